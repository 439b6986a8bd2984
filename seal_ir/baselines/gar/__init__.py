"""GAR (Mao et al., 2021): BM25 on questions with generated text added, fused."""
