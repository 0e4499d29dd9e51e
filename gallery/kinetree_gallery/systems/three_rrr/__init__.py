"""The system 3-rrr: its model, how it is assembled and moved, and its study."""
