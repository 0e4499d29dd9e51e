"""The system pppr-robot: its model, how it is assembled and moved, and its study."""
