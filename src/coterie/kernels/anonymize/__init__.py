"""Kernels that draw releases and attack them (used by `coterie.anonymize`)."""
