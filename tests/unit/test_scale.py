"""docs/scale.md has what its script prints, each constant says where it is from, and the sums are right."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END
from tests.bench import scale
from tests.bench.scale import Size, predicted, read_constants, sizes, sources, table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_the_page_has_what_the_script_prints() -> None:
    known = read_constants()
    assert table([predicted(size, known) for size in sizes(known)]) in PAGE
    assert sources() in PAGE


def test_each_constant_says_where_it_is_from() -> None:
    entries = tomllib.loads(scale.CONSTANTS.read_text(encoding="utf-8"))["constants"]
    for name, entry in entries.items():
        assert entry.keys() == {"value", "unit", "kind", "from"}, name
        assert entry["kind"] in ("measured", "computed")
        for path in re.findall(r"tests/\S+?\.py", entry["from"]):
            assert (ROOT / path).is_file()
        assert re.search(r"tests/bench/\w+\.py", entry["from"]), name


def test_a_prediction_by_hand() -> None:
    known = {
        **{"segment_tokens": 100, "machine_bytes": 10_000, "machine_cores": 2, "used": 0.5},
        **{"core_hour": 1.0, "gigabyte_hour": 1e6, "tokenise_ns": 1e9, "write_ns": 2e9, "engine_ns": 4e9},
        **{
            "token_bits": 16,
            "passage_bytes": 10,
            "segment_bytes": 50,
            "step_ms": 2.0,
            "steps": 8,
            "batch": 4,
        },
        **{"step_segment_ms": 0.5, "step_bytes": 30, "match_bytes": 7, "model_ms": 5.0, "rank_ms": 3.0},
        **{"build_fixed_bytes": 1000, "build_token_bytes": 3, "batch": 4},
    }
    found = predicted(Size("x", 200, 4000, 40), known)
    assert found.build_core_hours == pytest.approx(7 * 4000 / 3600)
    assert (found.disk_bytes, found.memory_bytes) == (8000 + 2000, 10_000 + 40 * 50)
    assert found.shards == 3
    assert found.build_hours == pytest.approx(found.build_core_hours / 6)
    assert found.build_bytes == 1300
    assert found.step_ms == 2.0 + 0.5 * 14
    assert (found.step_bytes, found.match_bytes) == (90, 7)
    assert found.query_core_ms == 5.0 + 3 * 9.0 * 2 + 3.0
    assert found.queries_per_second == pytest.approx(6000 / 62)
    assert found.dollars_per_hour == 3 * (2 + 10.0)


def test_words_of_copies_are_permuted_and_titles_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "bench"))  # where the script finds its neighbours
    from tests.bench.scale_build import permuted

    begins = np.zeros(FIRST_TOKEN + 10, dtype=bool)
    begins[[FIRST_TOKEN, FIRST_TOKEN + 1, FIRST_TOKEN + 2]] = True
    a, b, c, tail = FIRST_TOKEN, FIRST_TOKEN + 1, FIRST_TOKEN + 2, FIRST_TOKEN + 3
    streams = [[BOUNDARY, a, b, TITLE_END, a, tail, b, c, tail], [BOUNDARY, TITLE_END, b, a]]
    symbols = np.array(sum(streams, []), dtype=np.uint32)
    seen = set()
    for seed in range(40):
        mixed = permuted(np.array([0, 9, 13]), symbols, begins, np.random.default_rng(seed)).tolist()
        assert mixed[:4] == streams[0][:4] and mixed[9:11] == streams[1][:2]
        assert sorted(mixed[11:]) == [a, b]
        seen.add(tuple(mixed[4:9]))
    assert seen == {
        *((a, tail, b, c, tail), (a, tail, c, tail, b), (b, a, tail, c, tail)),
        *((b, c, tail, a, tail), (c, tail, a, tail, b), (c, tail, b, a, tail)),
    }
