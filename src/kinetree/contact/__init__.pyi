from .rigid_contacts import Contact as Contact
from .rigid_contacts import ContactForces as ContactForces
from .rigid_contacts import ContactState as ContactState
from .rigid_contacts import ForceResponse as ForceResponse
from .rigid_contacts import RigidContacts as RigidContacts
from .rigid_contacts import contact_rows as contact_rows
from .rigid_contacts import contacts_at as contacts_at
