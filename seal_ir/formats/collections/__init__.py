"""Collections of documents, in the forms that Pyserini, DPR, BEIR and the hub have them."""
