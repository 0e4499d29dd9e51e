"""Units of the numbers of joints and constraints. Each kind of joint defines whether it is ``rad`` or ``m``."""

FORCE_OF = {"rad": "N m", "m": "N"}
"""Unit of a force, by the unit of the motion along which it does work."""
