"""Closed loops on arrays: closing them, ranks and mobility, subsystems, parallel manipulators."""
