"""Contact: surfaces, compliant ground, rigid contact with friction, impact, joint stops."""

import warnings

from .rigid_contacts import (
    Contact,
    ContactForces,
    ContactState,
    ForceResponse,
    RigidContacts,
    contact_rows,
    contacts_at,
)
from .surfaces import Ball, Grid, HeightField, Plane, Spot

__all__ = [
    "Ball",
    "Contact",
    "ContactForces",
    "ContactState",
    "ForceResponse",
    "Grid",
    "HeightField",
    "Plane",
    "RigidContacts",
    "Spot",
    "contact_rows",
    "contacts_at",
]


def __getattr__(name: str) -> object:
    """Find a class by the name it had in release 0.1."""
    if name == "Mobility":
        warnings.warn(
            "kinetree.contact.Mobility is now ForceResponse; the former name goes with release 0.3",
            DeprecationWarning,
            2,
        )
        return ForceResponse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what is meant for users."""
    return sorted(__all__)
