"""Settings of a search, frozen, with the presets that name the paper's systems.

Equation and table numbers refer to Bevilacqua et al., "Autoregressive Search Engines: Generating
Substrings as Document Identifiers", NeurIPS 2022 (arXiv 2204.10628); docs/scoring.md writes them out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from seal_ir.arguments import check_least, instance
from seal_ir.errors import UsageError, shown
from seal_ir.records import BODY, QUERY, TITLE, UNIGRAM

# Titles and fields are written to their ends, which costs nothing where they are shorter; this much at most.
# The longest title of 319,802 passages of Wikipedia has 36 tokens.
LONGEST_STEPS = 64
DEFAULT_PRESET = "balanced"  # the best buy on dev questions (docs/frontier.md)
DEFAULT_BATCH_SIZE = 8  # queries decoded together; larger batches gain little on a CPU
_KINDS = (BODY, TITLE, QUERY, UNIGRAM)
_BY_KIND = ("query_scale", "query_trust", "unigram_scale")


def _finite(config: object, name: str) -> None:
    if getattr(config, name) == math.inf:
        raise UsageError(f"{name} is inf; it must be a finite number")


def _one_of(config: object, name: str, allowed: tuple[str, ...]) -> None:
    value = getattr(config, name)
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """What the model is asked to write.

    Attributes:
        beam: hypotheses kept per step (paper: 15); the best `2 * beam` attested candidates of each
            step become keys.
        body_steps: length of the longest body n-gram in tokens (paper: 10); 0 writes none.
        title_steps: most tokens of a title, its end symbol included (paper: 15); 0 writes no titles. Those
            that are longer cannot be written, and a search says how many they are.
        query_words: word n-grams of the query up to this many words become keys; 0 for none.
        unigrams: how many tokens of the first step's distribution are kept (published: 5,000).
        fields: further fields of the index whose values the model writes whole, as it writes titles.
        field_steps: most tokens of a further field's value, likewise.
        constrained: write only what the corpus holds; else the model writes what it likes, and what the
            corpus does not hold is dropped afterwards (the paper's ablation).
        rescore: read all keys again in a second forward pass; where the prompts are the same it changes
            nothing but time (the beam has the probabilities already).
        stop: leave out what no ranking by LM+FM can use (docs/scoring.md); no ranking changes by that.
        least_weight: with `stop`, n-grams do not go on either whose continuations cannot reach this weight;
            above 0 rankings may change.
        retired: with `stop`, body n-grams that occur at most this often do not go on, and keep their place in
            the beam; above 0 rankings may change.
    """

    beam: int = 15
    body_steps: int = 10
    title_steps: int = LONGEST_STEPS
    query_words: int = 3
    unigrams: int = 5000
    fields: tuple[str, ...] = ()
    field_steps: int = LONGEST_STEPS
    constrained: bool = True
    rescore: bool = False
    stop: bool = False
    least_weight: float = 0.0
    retired: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, beam=1, field_steps=1, body_steps=0, title_steps=0, query_words=0, unigrams=0)
        check_least(self, least_weight=0.0, retired=0)
        _finite(self, "least_weight")
        if (self.least_weight or self.retired) and not self.stop:
            name = "least_weight" if self.least_weight else "retired"
            raise UsageError(f"{name} is {getattr(self, name)}, and stop is off; they go together")
        if not (self.body_steps or self.title_steps or self.fields):
            raise UsageError("nothing is written: body_steps and title_steps are 0 and there are no fields")
        if not self.body_steps and (self.query_words or self.unigrams):
            raise UsageError(
                "query_words and unigrams are scored by the body prompt; body_steps must be 1 or more"
            )
        own = [name for name in self.fields if name in _KINDS]
        if own:
            raise UsageError(f"fields holds {own[0]!r}, which is no further field")

    @property
    def written(self) -> tuple[str, ...]:
        """The kinds of keys that the model writes, in the order in which it is asked."""
        return tuple(kind for kind in (BODY, TITLE, *self.fields) if self.steps(kind))

    def steps(self, kind: str) -> int:
        """The longest key of a kind in tokens; 0 where it is not written."""
        if kind in self.fields:
            return self.field_steps
        return {BODY: self.body_steps, TITLE: self.title_steps}.get(kind, 0)


@dataclass(frozen=True, slots=True)
class RankConfig:
    """How keys become document scores.

    Attributes:
        weight: "lm" (log P(n|q)) or "lm-fm" (log odds of P(n|q) against P(n), equation 2).
        score: "max" (the best key of the document) or "intersective" (equation 4).
        kinds: which kinds of key count: "body", "title", "query", and further fields by their names.
        length: count body keys of exactly this many tokens only; 0 for all lengths.
        alpha: power of a key's weight (paper: 2.0).
        beta: share of a key's weight that depends on tokens no earlier key had (paper: 0.8).
        smoothing: s in P(n) = (F(n) + s) / (N + s); 5 in the published system, 0 in the paper.
        unigrams: fill tokens that no key has taken with the first step's distribution.
        unigram_alpha: raise unigram weights to alpha too (the paper's formula; not as published).
        query_scale, unigram_scale: what the weights of the query's own n-grams and of unigrams are multiplied
            by, before they are raised to alpha; those of other keys are multiplied by 1.
        query_trust: how far the model is believed on the query's own n-grams, whose probability becomes
            P(n|q)^query_trust: 1 as it says, 0 not at all, so that rarity alone counts. In a collection of
            less than 10^7 tokens any trust below 1 is less (`rank.weights.trust_in`).
        max_count: a document is a candidate if it holds a key with F(n) <= max_count; more frequent keys make
            candidates only where these are too few (docs/scoring.md).
    """

    weight: str = "lm-fm"
    score: str = "intersective"
    kinds: tuple[str, ...] = (BODY, TITLE, QUERY)
    length: int = 0
    alpha: float = 2.0
    beta: float = 0.8
    smoothing: float = 5.0
    unigrams: bool = True
    unigram_alpha: bool = False
    query_scale: float = 1.0
    query_trust: float = 1.0
    unigram_scale: float = 1.0
    max_count: int = 1500

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        _one_of(self, "weight", ("lm", "lm-fm"))
        _one_of(self, "score", ("max", "intersective"))
        check_least(self, length=0, alpha=0.0, smoothing=0.0, max_count=1)
        _finite(self, "alpha")
        _finite(self, "smoothing")
        if self.weight == "lm" and self.score == "intersective":
            raise UsageError("weight 'lm' is negative and cannot be summed; use it with score 'max'")
        if self.weight == "lm" and self.by_kind:
            raise UsageError(
                f"{self.by_kind} is for weight 'lm-fm'; 'lm' ranks by log-probabilities as they are"
            )
        for name, most in (("beta", 1.0), ("query_trust", 1.0), ("query_scale", 1e3), ("unigram_scale", 1e3)):
            if not 0.0 <= getattr(self, name) <= most:
                raise UsageError(f"{name} is {getattr(self, name)}; it must lie in [0, {most:g}]")

    @property
    def by_kind(self) -> str:
        """The first setting that tells kinds of keys apart and is not 1, by name; "" where all are."""
        return next((name for name in _BY_KIND if getattr(self, name) != 1.0), "")

    def scale_and_trust(self, kind: str) -> tuple[float, float]:
        """What the weights and log-probabilities of keys of a kind are multiplied by."""
        return (self.query_scale, self.query_trust) if kind == QUERY else (1.0, 1.0)

    @property
    def needs_all_keys(self) -> bool:
        """Whether it may rank by keys that a decoding with `stop` leaves out."""
        # With beta = 1 a key may add nothing and take nothing, so that a longer one of lower weight counts.
        return (
            self.weight == "lm" or self.length > 0 or (self.score == "intersective" and not self.beta < 1.0)
        )


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """A preset by name and the settings it stands for; printed and saved beside every run.

    Attributes:
        preset: the name.
        decode, rank: the settings.
        slow_path: decode and rank as the published system does, for benchmarks: see published/decode.py and
            published/rank.py.
    """

    preset: str = "intersective"
    decode: DecodeConfig = DecodeConfig()
    rank: RankConfig = RankConfig()
    slow_path: bool = False

    def __post_init__(self) -> None:
        """Refuse kinds that nothing writes, and what the slow path cannot do."""
        decode = instance(self.decode, DecodeConfig, "decode")
        instance(self.rank, RankConfig, "rank")
        allowed = (BODY, TITLE, QUERY, *decode.fields)
        unknown = [kind for kind in self.rank.kinds if kind not in allowed]
        if unknown:
            raise UsageError(f"kinds holds {shown(unknown[0])}; it may hold {', '.join(allowed)}")
        if self.slow_path and (decode.fields or not (decode.constrained and decode.body_steps)):
            raise UsageError(f"preset {self.preset!r} writes body and title under the constraint only")
        if self.slow_path and (self.rank.score, self.rank.weight) != ("intersective", "lm-fm"):
            raise UsageError(f"preset {self.preset!r} has score 'intersective' and weight 'lm-fm' only")
        if self.slow_path and self.rank.by_kind:
            raise UsageError(f"preset {self.preset!r} has no {self.rank.by_kind}; leave it out")
        if decode.stop and (self.slow_path or self.rank.needs_all_keys):
            raise UsageError(
                f"stop is on, and preset {self.preset!r} may need every key (weight 'lm', a length, beta 1,"
                " or a baseline); leave it off"
            )

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return asdict(self)


DOCID, PSEUDO_QUERIES = "docid", "pseudo_queries"  # further fields that presets know by name
_BALANCED = RankConfig(
    kinds=(BODY, QUERY), smoothing=0.0, query_scale=1.2, query_trust=0.7, unigram_scale=2.0
)

PRESETS: Mapping[str, SearchConfig] = MappingProxyType(
    {
        "lm": SearchConfig(
            "lm",
            DecodeConfig(title_steps=0, query_words=0, unigrams=0),
            RankConfig(weight="lm", score="max", kinds=(BODY,), length=5, alpha=1.0, unigrams=False),
        ),
        "lm-fm": SearchConfig(
            "lm-fm", DecodeConfig(unigrams=0), RankConfig(score="max", alpha=1.0, unigrams=False)
        ),
        "intersective": SearchConfig("intersective"),
        "paper": SearchConfig("paper", rank=RankConfig(smoothing=0.0, unigram_alpha=True)),
        # For the default model, by dev sets: titles push all passages of a page, and cost half the time.
        "body": SearchConfig(
            "body", DecodeConfig(title_steps=0), RankConfig(kinds=(BODY, QUERY), smoothing=0.0)
        ),
        # The query's n-grams and the first step's unigrams. What the model writes does not count, so that the
        # ranking is the same where other presets let it write more in the same search.
        "fast": SearchConfig(
            "fast", DecodeConfig(body_steps=1, title_steps=0), replace(_BALANCED, kinds=(QUERY,))
        ),
        # As body, with what dev sets say of the kinds of keys; the one that also holds in tiny collections.
        # Longer n-grams and wider beams bought nothing there (docs/frontier.md).
        "balanced": SearchConfig("balanced", DecodeConfig(beam=5, body_steps=5, title_steps=0), _BALANCED),
        "thorough": SearchConfig("thorough", rank=replace(_BALANCED, kinds=(BODY, TITLE, QUERY))),
        "genre": SearchConfig(
            "genre",
            DecodeConfig(body_steps=0, query_words=0, unigrams=0),
            RankConfig(weight="lm", score="max", kinds=(TITLE,), alpha=1.0, unigrams=False),
        ),
        "dsi": SearchConfig(
            "dsi",
            DecodeConfig(body_steps=0, title_steps=0, query_words=0, unigrams=0, fields=(DOCID,)),
            RankConfig(weight="lm", score="max", kinds=(DOCID,), alpha=1.0, unigrams=False),
        ),
        "minder": SearchConfig(
            "minder",
            DecodeConfig(fields=(PSEUDO_QUERIES,)),
            RankConfig(kinds=(BODY, TITLE, QUERY, PSEUDO_QUERIES)),
        ),
        "published": SearchConfig("published", DecodeConfig(title_steps=15, rescore=True), slow_path=True),
    }
)


def preset(name: str) -> SearchConfig:
    """The settings of a preset.

    Raises:
        UsageError: no preset has this name.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise UsageError(f"unknown preset {shown(name)}; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def chosen(name: str, config: SearchConfig | None) -> SearchConfig:
    """`config`, else the settings of a preset.

    Raises:
        ArgumentError: `config` is something else, such as a dict or the settings of one side only.
        UsageError: no preset has this name.
    """
    return preset(name) if config is None else instance(config, SearchConfig, "config")


def covering(configs: list[SearchConfig]) -> DecodeConfig:
    """Decoding settings whose keys serve every one of `configs`, so that one decoding does for all.

    Raises:
        UsageError: the configs differ in what no single decoding can serve: beam, rescoring, the constraint,
            the slow path.
    """
    beams = sorted({config.decode.beam for config in configs})
    if len(beams) != 1:
        raise UsageError(f"presets with different beams {beams} cannot share one decoding")
    decodes = [config.decode for config in configs]
    alike = {(d.rescore, d.constrained, d.least_weight, d.retired) for d in decodes}
    if len(alike) != 1 or len({config.slow_path for config in configs}) != 1:
        names = ", ".join(config.preset for config in configs)
        raise UsageError(
            f"presets {names} cannot share one decoding: 'published', and those with rescore or without the"
            " constraint, run alone, as do those with other least_weight or retired"
        )
    most = ("body_steps", "title_steps", "query_words", "unigrams", "field_steps")
    return replace(
        decodes[0],
        fields=tuple(dict.fromkeys(name for decode in decodes for name in decode.fields)),
        stop=all(decode.stop for decode in decodes),
        **{name: max(getattr(decode, name) for decode in decodes) for name in most},
    )
