"""Generative retrieval for Pyserini users."""
