"""The system delta-design: its model, how it is assembled and moved, and its study."""
