"""The system toggle-clamp: its model, how it is assembled and moved, and its study."""
