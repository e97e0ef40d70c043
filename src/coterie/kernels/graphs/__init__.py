"""Kernels on graphs: adjacency, paths, triangles (`data`, `anonymize`)."""
