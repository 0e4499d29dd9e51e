"""The version of kinetree, below everything else so that every package can import it."""

VERSION = "0.2.0"
