"""Sweeps: designs, names of all that can vary, parts in files, who computes them, what is said of all rows."""
