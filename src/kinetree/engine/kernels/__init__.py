"""Functions of arrays whose machine code is made when they are first called."""
