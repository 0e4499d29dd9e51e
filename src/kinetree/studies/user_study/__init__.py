"""Users' studies: a YAML file defines a robot, its motion, and what is expected.

``kinetree new`` writes :func:`starter`, ``kinetree run`` runs it; every error is reported with its line.
"""

from .design_section import DesignTask
from .plan import StudyPlan
from .reader import MARK, NAME, SIMULATION_KEYS, StudyReader, UserStudy, read, read_design_file, starter

__all__ = [
    "MARK", "NAME", "SIMULATION_KEYS", "DesignTask", "StudyPlan", "StudyReader", "UserStudy", "read",
    "read_design_file", "starter",
]  # fmt: skip
