"""Queries to keys with weights: Pyserini's encoder conventions, in Python and as a command."""
