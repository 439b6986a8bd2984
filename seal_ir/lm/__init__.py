"""The language model: loaded, and asked for next-token log-probabilities of rows that branch."""
