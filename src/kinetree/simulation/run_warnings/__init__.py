"""Warnings about suspicious runs: steps too long, ground that creates energy, robots that nothing holds."""
