"""Cut a mechanism into subsystems and solve their constraint forces one after another."""
