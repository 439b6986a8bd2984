"""Dense retrieval: passages as vectors, searched by inner product through Pyserini's FaissSearcher."""
