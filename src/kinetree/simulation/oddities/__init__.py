"""What is odd about a run, and said: steps too long, ground that gives energy, what nothing holds."""
