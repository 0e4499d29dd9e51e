"""Analyses that studies have in common: inverse dynamics of a motion, replay, free fall, walking, operation counts."""
