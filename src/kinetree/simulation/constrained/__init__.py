"""Motions under constraints that depend on time, and how constraints are maintained during steps."""
