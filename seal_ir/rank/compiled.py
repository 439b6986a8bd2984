"""The extension module `seal_ir._rank` (cpp/rank), which every build of seal-ir has, under one import."""

from seal_ir._rank import Cache, Query, Ranking, taken

__all__ = ["Cache", "Query", "Ranking", "taken"]
