"""Identifiers of DSI (Tay et al., 2022): a document's path through clusters of clusters of its vector."""
