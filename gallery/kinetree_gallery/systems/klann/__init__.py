"""The system klann: its model, how it is assembled and moved, and its study."""
