"""Parallel manipulators: a platform carried by legs."""

from .platform import Platform

__all__ = ["Platform"]
