"""Worlds as environments of Gymnasium."""
