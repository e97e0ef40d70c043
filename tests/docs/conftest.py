"""The documentation is looked at in the same browser as the reports."""

from tests.report.conftest import browser as browser
