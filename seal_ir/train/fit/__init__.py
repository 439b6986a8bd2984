"""Training: from a prepared set to a model folder."""
