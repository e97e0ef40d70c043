"""The local web application: `coterie app`."""
