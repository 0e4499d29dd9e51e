"""Results of simulations: motion, energies, events; files and plots of them."""
