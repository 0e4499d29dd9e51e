"""The system hoeken: its model, how it is assembled and moved, and its study."""
