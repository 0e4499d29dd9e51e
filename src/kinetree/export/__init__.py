"""What leaves kinetree: C source, operation counts, expressions of SymPy, JAX and CasADi."""
