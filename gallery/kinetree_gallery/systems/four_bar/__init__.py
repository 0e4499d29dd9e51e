"""The system four-bar: its model, how it is assembled and moved, and its study."""
