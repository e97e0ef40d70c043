"""Kernels of soft clustering (`models/soft`)."""
