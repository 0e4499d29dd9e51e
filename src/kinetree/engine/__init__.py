"""Graphs of arithmetic and the machine code made from them. Knows nothing about robots."""
