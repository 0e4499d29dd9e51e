"""LLVM assembly of graphs and of the code that runs them, and the processors that it is made for."""
