"""Errors, progress, randomness, JSON: what every other package may import."""
