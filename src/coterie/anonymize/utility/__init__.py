"""How similar a release is to its original."""
