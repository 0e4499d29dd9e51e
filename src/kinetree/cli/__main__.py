"""``python -m kinetree.cli`` also runs the command line."""

from .app import app

app()
