"""Motions under constraints that time drives, and how constraints are held while stepping."""
