"""Clustering by description length: state of a partition, search for the shortest, hierarchy.

state.py       what is described: graph, labels, statistics (kernels/hard/description.py)
search.py      the shortest description with any number of blocks
"""
