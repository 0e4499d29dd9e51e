"""Walking: geometry of legs, gaits, the zero-moment point."""
