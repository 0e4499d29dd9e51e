"""The subject of exports: a model, or anything that has one, such as a robot."""

from __future__ import annotations

from typing import Protocol

from ..model.tree import Model


class Modeled(Protocol):
    """The interface of robots for exports."""

    @property
    def model(self) -> Model:
        """The mechanism as plain data."""


def model_of(subject: Modeled | Model) -> Model:
    """Return the model itself, or that of a robot."""
    return subject if isinstance(subject, Model) else subject.model
