"""Errors, progress, randomness and JSON, for all other packages."""
