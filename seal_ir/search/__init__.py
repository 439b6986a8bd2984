"""Searching: Pyserini's searcher interface and the command line."""
