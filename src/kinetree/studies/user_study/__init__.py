"""Users' studies: a YAML file defines a robot, its motion, and what is expected.

``kinetree new`` writes :func:`starter`, ``kinetree run`` runs it; every error is reported with its line.
"""

from .plan import StudyPlan
from .reader import MARK, NAME, SIMULATION_KEYS, StudyReader, UserStudy, read, starter

__all__ = ["MARK", "NAME", "SIMULATION_KEYS", "StudyPlan", "StudyReader", "UserStudy", "read", "starter"]
