"""``python -m kinetree`` is the command line."""

from .cli.app import app

app()
