"""Exports: C source, operation counts, expressions of SymPy, JAX and CasADi."""
