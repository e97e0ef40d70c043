"""The estimators: hard, soft and additive block models, and tools to compare their results."""
