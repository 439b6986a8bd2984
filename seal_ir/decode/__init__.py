"""The language model's side: constrained generation of keys."""
