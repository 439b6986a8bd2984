"""Text <-> index symbols: tokenizers, control symbols, and what a language model brings besides weights."""
