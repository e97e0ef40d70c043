"""Generate, measure, attack, decide, release."""
