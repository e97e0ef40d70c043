"""What a network has besides undirected edges: attributes, directions, weights, two sides.

A release draws the skeleton first: who is connected, without directions and weights. Everything
else is drawn on top of it, from statistics of the same classes.
"""
