"""Kernels of drawing and attacking releases (`anonymize`)."""
