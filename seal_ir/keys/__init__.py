"""Key files: what a model wrote for queries, on disk, and back with its rows in an index. No model here."""
