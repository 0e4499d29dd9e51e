"""Optimal motions, a package above kinetree; users reach it as :mod:`kinetree.optimize`."""
