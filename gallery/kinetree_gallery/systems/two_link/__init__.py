"""The system two-link: its model, how it is assembled and moved, and its study."""
