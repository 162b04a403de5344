"""Measurements: `python -m benchmarks` runs all, prints the tables and writes docs/benchmarks.md."""
