"""Fixtures of the tests of reports."""

from tests.support.browser import browser

__all__ = ["browser"]
