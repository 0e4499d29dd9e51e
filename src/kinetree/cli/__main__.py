"""``python -m kinetree.cli`` is the command line, too."""

from .app import app

app()
