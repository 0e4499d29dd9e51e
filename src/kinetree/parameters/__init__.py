"""Which parameters of a robot act together: base parameters by rules and by numbers, and the regrouped robot."""
