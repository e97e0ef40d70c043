"""How similar a published graph is to its original."""
