"""Kernels of hard clustering (`models/hard`)."""
