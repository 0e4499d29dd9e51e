"""What is exported: a model, or anything that has one, as robots do."""

from __future__ import annotations

from typing import Protocol

from ..model.tree import Model


class Modeled(Protocol):
    """A robot, as far as exports know it."""

    @property
    def model(self) -> Model:
        """The mechanism as plain data."""


def model_of(subject: Modeled | Model) -> Model:
    """Return the model itself, or that of a robot."""
    return subject if isinstance(subject, Model) else subject.model
