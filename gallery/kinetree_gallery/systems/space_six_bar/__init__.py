"""The system space-six-bar: its model, how it is assembled and moved, and its study."""
