"""The system biped-spatial-fixed: its model, how it is assembled and moved, and its study."""
