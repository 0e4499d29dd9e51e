"""Integrators: fixed step, variational, adaptive, and the way over change points."""
