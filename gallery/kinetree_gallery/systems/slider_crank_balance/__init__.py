"""The system slider-crank-balance: its model, how it is assembled and moved, and its study."""
