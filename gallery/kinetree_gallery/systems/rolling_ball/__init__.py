"""The system rolling-ball: its model, how it moves, and its study."""
