"""The system stanford-arm: its model, how it is assembled and moved, and its study."""
