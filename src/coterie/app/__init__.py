"""The local web application (`web`) and the HTTP API of a saved recommender (`api`).

Both are Starlette applications behind the same guard (`guard.py`), run by `server.py`. They need
the extra `[app]`.
"""
