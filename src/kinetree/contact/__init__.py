"""Contact: surfaces, compliant ground, rigid contact with friction, impact, joint stops."""

from .rigid_contacts import (
    Contact,
    ContactForces,
    ContactState,
    Mobility,
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
    "Grid",
    "HeightField",
    "Mobility",
    "Plane",
    "RigidContacts",
    "Spot",
    "contact_rows",
    "contacts_at",
]
