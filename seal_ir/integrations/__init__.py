"""Retrievers for other toolkits, a module each, which needs the package of that toolkit."""
