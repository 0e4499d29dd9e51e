"""Which parameters of a robot act together: base parameters by rule and by numbers, and the regrouped robot."""
