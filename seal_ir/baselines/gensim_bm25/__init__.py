"""BM25 by gensim, the other BM25 of published tables."""
