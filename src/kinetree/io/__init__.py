"""Files and the terminal: whole files, tables, progress."""
