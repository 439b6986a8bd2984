"""A reader that any causal language model makes: passages and the question in its prompt."""
