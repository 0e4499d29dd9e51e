"""Motions that are wanted: trajectories, gaits, inverse kinematics."""
