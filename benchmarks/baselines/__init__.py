"""Other techniques to publish a graph, for comparison.

A technique takes (graph, rng) and returns a graph in which node v stands for v; the benchmark
assigns new random ids before the attacks.
"""
