"""The risk of a release: what attackers can find out from it.

A1: a person among the members of the class. A2: an edge, from the edge probability of its cell.
A3: whether an edge was in the original, from how well the model fits it. A4: people, by attacks.
"""
