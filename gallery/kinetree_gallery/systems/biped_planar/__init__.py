"""The system biped-planar: its model, how it is assembled and moved, and its study."""
