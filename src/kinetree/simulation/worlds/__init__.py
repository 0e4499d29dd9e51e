"""Worlds: many copies of a robot that take actions step by step, for learning."""
