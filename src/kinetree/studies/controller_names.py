"""Control laws by name; apart from the laws, so that the command line completes names without them."""

from __future__ import annotations

LAWS = ("pd", "pd+gravity", "pid", "gravity", "computed-torque", "feedforward")
CONTROLLERS = ("none", *LAWS)
