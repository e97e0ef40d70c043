"""What an attacker can learn from a release."""
