"""Attributes of people in a release: drawn per class, limited, measured and attacked."""
