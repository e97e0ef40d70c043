"""Kernels of the interaction model."""
