"""From equations to motion: integrators, controllers, ground, trajectories, energy, records."""
