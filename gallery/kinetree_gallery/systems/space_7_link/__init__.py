"""The system space-7-link: its model, how it is assembled and moved, and its study."""
