"""The system biped-unified: its model, how it is assembled and moved, and its study."""
