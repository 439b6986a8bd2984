"""Text that may only quote a collection, for any `generate()` of transformers, and where it is from."""
