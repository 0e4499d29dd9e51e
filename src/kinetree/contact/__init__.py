"""Contact: surfaces, compliant ground, rigid contact with friction, impact, joint stops."""

from typing import TYPE_CHECKING

from ..lazy_names import LazyNames

if TYPE_CHECKING:
    from .rigid_contacts import Contact as Contact
    from .rigid_contacts import ContactForces as ContactForces
    from .rigid_contacts import ContactState as ContactState
    from .rigid_contacts import ForceResponse as ForceResponse
    from .rigid_contacts import RigidContacts as RigidContacts
    from .rigid_contacts import contact_rows as contact_rows
    from .rigid_contacts import contacts_at as contacts_at
    from .surfaces import Ball as Ball
    from .surfaces import Grid as Grid
    from .surfaces import HeightField as HeightField
    from .surfaces import Plane as Plane
    from .surfaces import Spot as Spot

_NAMES = LazyNames(
    __name__,
    {
        ".rigid_contacts": (
            "Contact",
            "ContactForces",
            "ContactState",
            "ForceResponse",
            "RigidContacts",
            "contact_rows",
            "contacts_at",
        ),
        ".surfaces": ("Ball", "Grid", "HeightField", "Plane", "Spot"),
    },
    former={
        "Mobility": "kinetree.contact.ForceResponse",
    },
)

__all__ = _NAMES.all
__getattr__, __dir__ = _NAMES.get, _NAMES.dir
