"""Motions that are wanted: ``trajectories``, ``walking``, ``inverse_kinematics``.

Nothing is imported here: trajectories alone are soon there.
"""
