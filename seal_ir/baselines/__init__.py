"""Other systems as rows of the same tables: run on the same collections, topics and run format as ours."""
