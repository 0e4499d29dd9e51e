"""The system jansen: its model, how it is assembled and moved, and its study."""
