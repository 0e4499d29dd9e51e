"""The system stewart-platform: its model, how it is assembled and moved, and its study."""
