"""Velocities and accelerations of measured positions."""
