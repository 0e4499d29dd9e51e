"""The system crossed-pendulum: its model, how it is assembled and moved, and its study."""
