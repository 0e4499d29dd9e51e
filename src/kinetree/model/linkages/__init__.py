"""Planar linkages as they are drawn: points by name, bars between them, and the mechanism that they make."""
