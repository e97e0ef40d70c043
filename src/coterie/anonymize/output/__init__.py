"""The result of an anonymization: the release, its files, the public report and the audit."""
