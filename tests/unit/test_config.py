"""Settings: presets, what is refused, TOML over a preset, one decoding for several presets."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from seal_ir.config import PRESETS, DecodeConfig, RankConfig, SearchConfig, covering, preset
from seal_ir.config_files import from_toml
from seal_ir.errors import UsageError
from seal_ir.records import BODY, QUERY, TITLE


def test_presets_are_named_as_they_are_called() -> None:
    assert list(PRESETS) == [
        "lm",
        "lm-fm",
        "intersective",
        "paper",
        "body",
        "fast",
        "balanced",
        "thorough",
        "genre",
        "dsi",
        "minder",
        "published",
    ]
    assert all(config.preset == name for name, config in PRESETS.items())
    assert preset("intersective") == SearchConfig()
    with pytest.raises(
        UsageError, match="unknown preset 'bm25'; choose one of lm, lm-fm, intersective, paper"
    ):
        preset("bm25")


def test_the_paper_preset_is_the_paper() -> None:
    paper = preset("paper")
    assert (paper.decode.beam, paper.decode.body_steps) == (15, 10)
    assert paper.decode == preset("intersective").decode  # so one decoding serves both
    assert (paper.rank.alpha, paper.rank.beta, paper.rank.smoothing) == (2.0, 0.8, 0.0)
    assert paper.rank.unigram_alpha


def test_the_fast_preset_takes_one_step_and_the_thorough_one_writes_all_there_is() -> None:
    fast, thorough = preset("fast"), preset("thorough")
    assert (fast.decode.written, fast.decode.body_steps) == ((BODY,), 1)
    assert fast.decode.query_words
    assert fast.decode.unigrams
    assert fast.rank.kinds == (QUERY,)
    assert thorough.decode.written == (BODY, TITLE)
    assert (thorough.decode.beam, thorough.decode.body_steps) == (15, 10)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (DecodeConfig, "beam", 0),
        (DecodeConfig, "body_steps", 0),
        (DecodeConfig, "title_steps", -1),
        (DecodeConfig, "query_words", -1),
        (DecodeConfig, "unigrams", -1),
        (RankConfig, "weight", "bm25"),
        (RankConfig, "score", "sum"),
        (RankConfig, "length", -1),
        (RankConfig, "alpha", -0.5),
        (RankConfig, "alpha", math.nan),
        (RankConfig, "alpha", math.inf),
        (RankConfig, "smoothing", -1.0),
        (RankConfig, "smoothing", math.inf),
        (RankConfig, "beta", 1.1),
        (RankConfig, "beta", math.nan),
        (RankConfig, "query_scale", -0.1),
        (RankConfig, "query_scale", math.inf),
        (RankConfig, "query_trust", 1.1),
        (RankConfig, "query_trust", math.nan),
        (RankConfig, "unigram_scale", 1001.0),
        (RankConfig, "max_count", 0),
        (DecodeConfig, "field_steps", 0),
        (DecodeConfig, "fields", ("title",)),
        (DecodeConfig, "least_weight", -0.5),
        (DecodeConfig, "least_weight", math.inf),
        (DecodeConfig, "least_weight", 2.0),  # without stop
        (DecodeConfig, "retired", -1),
        (DecodeConfig, "retired", 1),
    ],
)
def test_c9_nonsense_is_refused(kind: type, name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        kind(**{name: value})


@pytest.mark.parametrize(
    ("decode", "rank", "told"),
    [
        ({}, {"kinds": ("body", "abstract")}, "kinds holds 'abstract'; it may hold body, title, query"),
        (
            {"fields": ("docid",)},
            {"kinds": ("url",)},
            "kinds holds 'url'; it may hold body, title, query, docid",
        ),
    ],
)
def test_kinds_are_what_is_written(decode: dict[str, Any], rank: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        SearchConfig(decode=DecodeConfig(**decode), rank=RankConfig(**rank))


@pytest.mark.parametrize(
    ("decode", "told"),
    [
        ({"title_steps": 0}, "nothing is written"),
        ({"query_words": 2}, "query_words and unigrams are scored by the body prompt"),
        ({"unigrams": 5}, "query_words and unigrams are scored by the body prompt"),
    ],
)
def test_a_decoding_without_body(decode: dict[str, int], told: str) -> None:
    none = {"body_steps": 0, "query_words": 0, "unigrams": 0}
    assert DecodeConfig(**none).written == (TITLE,)
    with pytest.raises(UsageError, match=told):
        DecodeConfig(**none | decode)


def test_the_slow_path_writes_body_and_title_only() -> None:
    for decode in (DecodeConfig(fields=("docid",)), DecodeConfig(constrained=False)):
        with pytest.raises(UsageError, match="writes body and title under the constraint only"):
            SearchConfig("mine", decode, slow_path=True)


@pytest.mark.parametrize("name", ["query_scale", "query_trust", "unigram_scale"])
def test_what_tells_kinds_apart_is_for_lm_fm_and_not_for_the_slow_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"[rank]\n{name} = 0.5\n")
    assert from_toml(path, preset("paper")).rank.by_kind == name
    assert not preset("paper").rank.by_kind
    with pytest.raises(UsageError, match=f"{name} is for weight 'lm-fm'"):
        from_toml(path, preset("lm"))
    with pytest.raises(UsageError, match=f"preset 'published' has no {name}"):
        from_toml(path, preset("published"))


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        SearchConfig().preset = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        PRESETS["mine"] = SearchConfig()  # type: ignore[index]


def test_to_dict_is_json() -> None:
    values = json.loads(json.dumps(preset("lm").to_dict()))
    assert values["rank"]["kinds"] == [BODY]
    assert values["decode"]["beam"] == 15


def test_toml_over_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[decode]\nbeam = 5\n[rank]\nalpha = 1\nkinds = ["body", "query"]\nunigrams = false\n')
    config = from_toml(path, preset("paper"))
    assert config.decode == DecodeConfig(beam=5)
    assert config.rank.alpha == 1
    assert config.rank.kinds == (BODY, QUERY)
    assert not config.rank.unigrams
    assert config.rank.smoothing == 0.0
    path.write_text("")
    assert from_toml(path, preset("paper")) == preset("paper")
    path.write_text("[fusion]\nrrf_k = 10\n", encoding="utf-8")  # is for searches that fuse
    assert from_toml(path, preset("paper")) == preset("paper")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[decode", "cannot read settings"),
        ("[index]\nx = 1", "unknown table 'index'"),
        ("beam = 3", "unknown table 'beam'"),
        ("decode = 3", "decode = 3 must be a table"),
        ("[[rank]]\nalpha = 1", "must be a table"),
        ("[decode]\nbeams = 3", "unknown setting 'beams'; known are beam, body_steps"),
        ("[decode]\nbeam = 1.5", "beam = 1.5 must be a int"),
        ("[decode]\nbeam = true", "beam = True must be a int"),
        ("[decode]\nbeam = 0", "beam is 0"),
        ("[rank]\nalpha = '2'", "alpha = '2' must be a float"),
        ("[rank]\nalpha = nan", "alpha is nan"),
        ("[rank]\nunigrams = 1", "unigrams = 1 must be a bool"),
        ("[rank]\nkinds = 'body'", "kinds = 'body' must be a"),
        ("[rank]\nkinds = [1]", "kinds holds 1; it may hold"),
    ],
)
def test_toml_that_cannot_be_used_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        from_toml(path, SearchConfig())
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).count(str(path)) == 1
    assert told in str(error.value)


def test_toml_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    for path in (tmp_path / "none.toml", tmp_path, tmp_path / "latin.toml"):
        with pytest.raises(UsageError, match="cannot read settings"):
            from_toml(path, SearchConfig())


def test_one_decoding_covers_every_preset_of_a_beam() -> None:
    beam = DecodeConfig().beam
    every = covering([c for c in PRESETS.values() if not c.slow_path and c.decode.beam == beam])
    assert every == DecodeConfig(fields=("docid", "pseudo_queries"))
    assert every.written == (BODY, TITLE, "docid", "pseudo_queries")
    assert covering([preset("dsi"), preset("minder")]).steps("docid") == DecodeConfig().field_steps
    with pytest.raises(UsageError, match="without the constraint, run alone"):
        covering([preset("lm"), SearchConfig(decode=DecodeConfig(constrained=False))])
    assert covering([preset("lm")]) == preset("lm").decode
    assert covering([preset("lm"), preset("lm-fm")]) == DecodeConfig(unigrams=0)
    with pytest.raises(UsageError, match=r"different beams \[3, 15\]"):
        covering([preset("lm"), SearchConfig(decode=DecodeConfig(beam=3))])


@pytest.mark.parametrize(
    "rank",
    [
        {"weight": "lm", "score": "max"},
        {"length": 3},
        {"length": 3, "score": "max"},
        {"beta": 1.0},
    ],
)
def test_stop_where_every_key_may_count(rank: dict[str, Any]) -> None:
    needy = RankConfig(**rank)
    SearchConfig(rank=needy)
    with pytest.raises(UsageError, match="stop is on, and preset 'mine' may need every key"):
        SearchConfig("mine", DecodeConfig(stop=True), needy)
    SearchConfig("mine", DecodeConfig(stop=True), RankConfig(beta=1.0, score="max"))


def test_stop_is_not_for_the_slow_path() -> None:
    with pytest.raises(UsageError, match="leave it off"):
        SearchConfig(decode=DecodeConfig(stop=True), slow_path=True)


def test_one_decoding_stops_if_all_stop() -> None:
    stops = SearchConfig(decode=DecodeConfig(stop=True))
    assert covering([stops, stops]).stop
    assert not covering([stops, preset("paper")]).stop
    for values in ({"retired": 1}, {"least_weight": 2.0}):
        lossy = SearchConfig(decode=DecodeConfig(stop=True, **values))
        assert covering([lossy, lossy]) == lossy.decode
        with pytest.raises(UsageError, match="other least_weight or retired"):
            covering([lossy, stops])


def test_default_kinds() -> None:
    assert RankConfig().kinds == (BODY, TITLE, QUERY)
