"""Hard clustering: every node in exactly one block."""
