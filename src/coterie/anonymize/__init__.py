"""Publish a graph: draw a new graph, measure it, attack it, decide, write.

The packages, in the order of a release: `draw` (classes and new graphs), `utility` (how similar the
new graph is), `risk` (what attackers find in it), `policy` (the decision), `output` (the files).
"""
