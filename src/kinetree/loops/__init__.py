"""Closed loops on arrays: closing them, ranks and mobility, coordinates, dynamics, actuation, subsystems."""
