"""The system space-five-bar: its model, how it is assembled and moved, and its study."""
