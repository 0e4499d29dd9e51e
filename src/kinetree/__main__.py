"""``python -m kinetree`` is the command line."""

from .cli import app

app()
