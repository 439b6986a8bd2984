"""BM25 by Lucene, through Pyserini."""
