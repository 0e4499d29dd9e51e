"""The system path-9-points: its model, how it is assembled and moved, and its study."""
