"""The command line: :mod:`kinetree.cli.app` puts the commands together, one file each."""
