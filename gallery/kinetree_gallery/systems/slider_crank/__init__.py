"""The system slider-crank: its model, how it is assembled and moved, and its study."""
