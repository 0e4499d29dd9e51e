"""One recursion per file, each over any scalar."""
