"""Differential privacy: a sketch with exact noise, and graphs that are drawn from it."""
