"""Clustering by description length: the shortest description, hierarchies, samples.

state.py        what is described, and the table of models (kernels/hard/description_state.py)
search.py       the shortest description with any number of blocks
fit.py          one model of a graph, flat or nested
nested.py       hierarchies of blocks
directed_weighted.py  graphs with directions or real-valued weights
choice.py       several runs and models; comparison.py: a table of models
sampling.py     partitions from the posterior
"""
