"""The system space-dual-arm: its model, how it is assembled and moved, and its study."""
