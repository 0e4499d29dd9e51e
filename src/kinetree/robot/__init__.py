"""What a user holds: a robot, with or without closed loops."""

from .robot import Builder, Robot

__all__ = ["Builder", "Robot"]
