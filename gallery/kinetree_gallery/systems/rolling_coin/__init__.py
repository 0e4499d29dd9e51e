"""The system rolling-coin: its model, how it moves, and its study."""
