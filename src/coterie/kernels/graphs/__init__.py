"""Kernels on graphs: adjacency, paths, triangles."""
