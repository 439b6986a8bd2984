"""An index whose segments lie in the actors of a Ray cluster, each with some of them (docs/distributed.md).

What a shard answers is a function of its files and what it is asked, n-grams by their symbols: what a lost
shard knew is found again by the one that takes its place. `cluster` and `building` are all that know Ray.
"""
