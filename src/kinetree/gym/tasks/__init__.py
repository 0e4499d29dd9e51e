"""Tasks: one file each with a robot, what it is to do, and how that is seen and paid for."""
