"""Estimators that simulate: from measured states, or with the robot's controller."""
