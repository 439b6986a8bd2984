"""From keys to ranked documents: weights, coverage, ranking. No model and no files in here."""
