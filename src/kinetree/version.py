"""The version of kinetree, below everything else so that every room can say it."""

VERSION = "0.2.0"
