"""Pictures and the one-file HTML report."""
