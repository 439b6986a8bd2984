"""Models that come with this package, a folder each, and how the weights that they build on are fetched."""
