"""Reasons not to trust data or a result: each module detects some, and explains them."""
