"""Tasks: one file each with a robot, its goal, its observation and its reward."""
