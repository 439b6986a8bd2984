"""Topics and their answers, in the formats that Pyserini, DPR and TREC have."""
