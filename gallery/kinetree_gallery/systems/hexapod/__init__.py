"""The system hexapod: its model, how it is assembled and moved, and its study."""
