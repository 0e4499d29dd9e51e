"""Reasons not to trust data or a result: each module knows some, and says them in words."""
