"""The system sr400: its model, how it is assembled and moved, and its study."""
