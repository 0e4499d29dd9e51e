"""The studio: a server for one user and the page on which robots are built, moved and run."""
