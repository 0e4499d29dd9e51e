"""The system spatial-double-pendulum: its model, how it is assembled and moved, and its study."""
