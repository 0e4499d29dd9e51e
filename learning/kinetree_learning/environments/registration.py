"""The names of kinetree's environments in Gymnasium: ``gymnasium.make("kinetree/Quadruped-v0")``."""

from __future__ import annotations

import gymnasium

ENVIRONMENTS = {
    "kinetree/CartPole-v0": "cart-pole",
    "kinetree/Arm-v0": "arm",
    "kinetree/Quadruped-v0": "quadruped",
    "kinetree/Biped-v0": "biped",
    "kinetree/ClosedLoopLeg-v0": "closed-loop-leg",
}
"""kinetree's names of tasks, keyed by Gymnasium's."""


def register_environments() -> None:
    """Register kinetree's environments with Gymnasium; doing so twice is harmless."""
    for identity, name in ENVIRONMENTS.items():
        if identity not in gymnasium.registry:
            gymnasium.register(
                identity, entry_point="kinetree.gym:make", vector_entry_point="kinetree.gym:make_vec",
                kwargs={"name": name},
            )  # fmt: skip
