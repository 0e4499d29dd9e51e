"""Estimators that use simulations, from measured states or with the robot's controller."""
