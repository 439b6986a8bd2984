"""Choosing settings of ranking and fusion on questions of one's own, from key files; no model is needed."""
