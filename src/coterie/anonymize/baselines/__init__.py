"""Other ways to publish a graph, each small and clear, for the same table as ours.

A technique takes (graph, rng) and gives a graph in which node v stands for v; the benchmark gives
it new random ids before it is attacked.
"""
