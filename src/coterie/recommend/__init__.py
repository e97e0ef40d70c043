"""Recommendations from fitted models: predict, rank, add users, explain, evaluate and save."""
