"""The system three-link: its model, how it is assembled and moved, and its study."""
