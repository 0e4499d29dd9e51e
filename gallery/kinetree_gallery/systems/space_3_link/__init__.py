"""The system space-3-link: its model, how it is assembled and moved, and its study."""
