"""Expanded questions for GAR, written by a model for SEAL."""
