"""Run one recursion as a loop over many bodies, from the same text as for few."""
