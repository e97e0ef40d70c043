"""The estimators, one file an algorithm."""
