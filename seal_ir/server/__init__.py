"""Serving an index: Pyserini's REST routes, and tools for language models (MCP)."""
