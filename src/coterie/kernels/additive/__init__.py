"""Kernels of the additive block model (`models/additive`)."""
