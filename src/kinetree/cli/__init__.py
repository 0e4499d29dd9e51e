"""The command line: :mod:`kinetree.cli.app` assembles the commands, one file each."""
