"""Training: from a training set to a model folder."""
