"""The published system as a slow baseline for benchmarks: never the way to search."""
