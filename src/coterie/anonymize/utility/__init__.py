"""The utility of a published graph: its similarity to the original."""
