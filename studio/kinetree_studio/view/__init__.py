"""Robots in the browser: how they look, what is played, the page that shows them, its small server."""
