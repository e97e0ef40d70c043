"""The version of coterie."""

__version__ = "1.0.0rc1"
