"""Pictures and the one-file HTML report.

A report is made in three steps that can be looked at one by one: `summarize` (numbers, small
whatever the size of the data), `compose` (sections and charts), `page.write` (the template).
"""
