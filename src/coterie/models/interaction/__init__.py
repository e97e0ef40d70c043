"""Which items a user will interact with: item regression and factors over all pairs, combined."""
