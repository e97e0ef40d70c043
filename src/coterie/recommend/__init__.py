"""Predict, rank, fold in, evaluate."""
