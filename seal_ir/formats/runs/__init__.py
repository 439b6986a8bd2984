"""Runs and judgements."""
