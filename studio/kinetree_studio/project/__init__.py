"""A robot that is being built: its YAML text, the edits made to it, undo and redo, and the runs made with it."""
