"""Pages that compute: a robot and its dynamics in one file, which needs neither Python nor a network."""
