"""Denavit-Hartenberg tables: rows of three conventions, names of other programs, and tables of any robot."""
