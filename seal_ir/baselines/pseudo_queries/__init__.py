"""Pseudo-queries, the third view of a passage in MINDER (Li et al., 2023): questions that it answers."""
