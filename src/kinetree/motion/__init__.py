"""Desired motions: ``trajectories``, ``walking``, ``inverse_kinematics``.

Nothing is imported here, so that trajectories alone load quickly.
"""
