"""The system carpet-scraper: its model, how it is assembled and moved, and its study."""
