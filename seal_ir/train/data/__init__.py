"""Training sets: pairs, spans and documents into examples on disk."""
