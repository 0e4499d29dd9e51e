"""Policies: small networks from observations to actions, one file each."""
