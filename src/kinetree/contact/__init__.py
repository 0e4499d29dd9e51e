"""Contact: surfaces, compliant ground, rigid contact with friction, impact, joint stops."""

from .rigid_contacts import (
    Ball,
    Contact,
    ContactForces,
    ContactState,
    Grid,
    HeightField,
    Mobility,
    Plane,
    RigidContacts,
    Spot,
    contact_rows,
    contacts_at,
)

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
