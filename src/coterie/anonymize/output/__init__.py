"""What is written: the release folder, the audit, the public summary."""
