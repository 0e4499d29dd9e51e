"""Dynamics along the motions of tables, row by row: what ``kinetree inverse`` and its like compute."""
