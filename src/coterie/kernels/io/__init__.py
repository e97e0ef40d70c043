"""Kernels for reading files and numbering ids (`data`, `engine`)."""
