"""Planar linkages as they are drawn: named points, bars between them, and the resulting mechanism."""
