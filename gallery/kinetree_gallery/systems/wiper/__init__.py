"""The system wiper: its model, how it is assembled and moved, and its study."""
