"""`python -m seal_ir.explain`: which keys made a query's hits, or why a document is none."""
