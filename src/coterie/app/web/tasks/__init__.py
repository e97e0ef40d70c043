"""The long work of the application; each task runs in a process of its own (`worker.py`).

A task gets its settings as JSON, writes files into its own folder, and returns JSON.
"""
