"""Attacks by somebody who has the original graph and wants to know who is who in a release.

`catalogue.ATTACKS` is the list of them; a new attack is one file and one entry there.
"""
