"""The system biped-spatial: its model, how it is assembled and moved, and its study."""
