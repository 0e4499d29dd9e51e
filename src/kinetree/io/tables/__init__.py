"""Read and write tables of numbers: CSV, NPZ, Parquet."""
