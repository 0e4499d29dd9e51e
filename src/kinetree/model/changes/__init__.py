"""Mechanisms derived from others: with locked joints, compound joints as chains, other numbers."""
