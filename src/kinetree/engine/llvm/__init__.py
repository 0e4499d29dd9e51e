"""LLVM assembly of graphs and of what runs them, and the processors that it is made for."""
