"""Studies of the user's own: a YAML file says what robot moves how, and what is expected.

``kinetree new`` writes :func:`starter`, ``kinetree run`` runs it; every fault is reported with its line.
"""

from .reader import NAME, SIMULATION_KEYS, UserStudy, read, starter

__all__ = ["NAME", "SIMULATION_KEYS", "UserStudy", "read", "starter"]
