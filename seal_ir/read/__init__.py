"""Answers to questions out of the passages that a run ranked, and the command that writes them."""
