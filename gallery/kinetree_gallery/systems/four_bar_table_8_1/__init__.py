"""The system four-bar-table-8-1: its model, how it is assembled and moved, and its study."""
