"""Other people's files into ours: fairseq checkpoints, published indexes, published data."""
