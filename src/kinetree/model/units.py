"""Units of the numbers that belong to joints and constraints. Each kind of joint says ``rad`` or ``m`` itself."""

FORCE_OF = {"rad": "N m", "m": "N"}
"""Unit of a force by that of the motion along which it does work."""
