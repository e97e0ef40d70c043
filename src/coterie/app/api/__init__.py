"""The JSON API of a saved recommender: `coterie serve MODEL`."""
