"""Estimators: least squares in several forms, instrumental variables, and parameters that bodies can have."""
