"""What the command line does, one small file per command; :mod:`kinetree.cli` puts them together."""
