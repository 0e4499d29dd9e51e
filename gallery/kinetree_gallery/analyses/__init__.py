"""What the studies have in common: inverse dynamics along a motion, replay, free fall, walking, operation counts."""
