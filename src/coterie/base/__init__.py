"""What every room may use: errors, progress, randomness. Imports nothing of ours."""
