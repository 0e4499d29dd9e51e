"""What a simulation leaves behind: motion, energies, events; files and plots of them."""
