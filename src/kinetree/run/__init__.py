"""From an algorithm and arrays to numbers: checking, tracing, compiling, running."""
