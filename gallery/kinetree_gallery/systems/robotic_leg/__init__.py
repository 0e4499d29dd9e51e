"""The system robotic-leg: its model, how it is assembled and moved, and its study."""
