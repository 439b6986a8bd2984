"""`python -m seal_ir.tune`: its figures are those of searches with the settings, and what it refuses."""

from __future__ import annotations

import json
import random
import shutil
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from seal_ir.config import RankConfig, preset
from seal_ir.eval.__main__ import main as evaluate
from seal_ir.index.reader import Index
from seal_ir.keys.files import provenance_file
from seal_ir.keys.provenance import read_provenance, write_provenance
from seal_ir.records import Document, Query
from seal_ir.search.__main__ import main as search
from seal_ir.search.fusion import Fusion
from seal_ir.tune.__main__ import main
from seal_ir.tune.ranges import read_space
from tests.helpers import keys, tiny
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.stubbed import Stubbed

WORDS = ["a", "whale", "sea", "river", "city", "capital", "mountain", "Tokyo", "London", "Paris", "Earth"]
MEASURES = ["AnswerAccuracy@1", "AnswerAccuracy@5", "nDCG@10"]
N_TOPICS = 14


def documents() -> list[Document]:
    """Documents that have some words in common."""
    draw = random.Random(3)
    return [Document(f"d{i}", draw.choice(WORDS), " ".join(draw.choices(WORDS, k=12))) for i in range(40)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, topics with answers and judgements, their keys by no model, and two other runs."""
    folder = tmp_path_factory.mktemp("world")
    tiny.build(folder / "index", documents())
    index, draw = Index(folder / "index"), random.Random(5)
    queries = [Query(f"q{i}", f"question {i}") for i in range(N_TOPICS)]
    keys.write(
        folder / "keys.jsonl", index, [(q, keys.random_keys(index, i, 6)) for i, q in enumerate(queries)]
    )
    (folder / "topics.tsv").write_text("".join(f"{q.id}\t{q.text}\n" for q in queries))
    answers = [{"qid": q.id, "answers": [" ".join(draw.choices(WORDS, k=2))]} for q in queries]
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    judged = [f"{q.id} 0 d{draw.randrange(40)} 1\n" for q in queries if q.id != "q3"]
    (folder / "qrels.trec").write_text("".join(judged))
    for name in ("one", "two"):
        lines = [
            f"{q.id} Q0 d{i} 1 {draw.random():.3f} {name}\n"
            for q in queries
            for i in draw.sample(range(40), 15)
        ]
        (folder / f"{name}.trec").write_text("".join(lines))
    return folder


class Tune:
    """Calls the command, and searches with what it wrote."""

    def __init__(self, call: Runner, world: Path, folder: Path) -> None:
        self._call, self.world, self.folder = call, world, folder
        self.output = folder / "tuned.toml"
        self.preset = ["--preset", "intersective"]  # whose decoding the keys were made with

    def __call__(self, ranges: str, *arguments: object) -> Result:
        path = self.folder / "ranges.toml"
        path.write_text(ranges, encoding="utf-8")
        usual = ["--topics", self.world / "topics.tsv", "--keys", self.world / "keys.jsonl"]
        usual += ["--index", self.world / "index", "--ranges", path, "--output", self.output]
        judged = ["--answers", self.world / "answers.jsonl", "--qrels", self.world / "qrels.trec"]
        return self._call(main, *usual, *judged, *self.preset, *arguments)

    def figures(self) -> Any:
        return json.loads((self.folder / "tuned.toml.tune.json").read_text(encoding="utf-8"))

    def searched(self, config: Path, *arguments: object) -> dict[str, float]:
        """The figures of a search with a config, by `python -m seal_ir.eval`."""
        run, table = self.folder / "run.trec", self.folder / "table.json"
        topics = ["--topics", self.world / "topics.tsv"]
        index = ["--index", self.world / "index"]
        found = self._call(search, *topics, *index, "--keys", self.world / "keys.jsonl", "--config", config,
                           "--output", run, *self.preset, *arguments)  # fmt: skip
        assert found.code == 0, found.err
        judged = ["--answers", self.world / "answers.jsonl", "--qrels", self.world / "qrels.trec"]
        done = self._call(evaluate, "--run", run, *topics, *index, *judged, "--measures", *MEASURES,
                          "--output", table)  # fmt: skip
        assert done.code == 0, done.err
        rows = json.loads(table.read_text(encoding="utf-8"))["rows"]
        return {row["measure"]: row["value"] for row in rows}


@pytest.fixture
def tune(call: Runner, stubbed: Stubbed, world: Path, tmp_path: Path) -> Tune:
    return Tune(call, world, tmp_path)


RANGES = """[rank]
alpha = [1.0, 2.0]
beta = { from = 0.0, to = 1.0, step = 0.5 }
kinds = [["body", "query"], ["body"]]
"""
FUSION = """[rank]
unigrams = [true, false]
[fusion]
method = ["rrf", "interpolation"]
rrf_k = [1, 60]
normalisation = ["min-max", "sum"]
weights = [[1, 1, 1], [2, 0, 1]]
depth = [0, 3]
"""


def as_toml(settings: dict[str, Any]) -> str:
    """Settings as tune's JSON names them."""
    tables: dict[str, list[str]] = {}
    for name, value in settings.items():
        table, _, setting = name.partition(".")
        tables.setdefault(table, []).append(f"{setting} = {json.dumps(value)}")
    return "\n".join(line for name, lines in tables.items() for line in (f"[{name}]", *lines))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranges", "fused", "n"), [(RANGES, [], 12 + 1), (FUSION, ["one", "two"], 2 * (8 + 8) + 1)]
)
def test_figures_are_those_of_searches(
    tune: Tune, stubbed: Stubbed, tmp_path: Path, ranges: str, fused: list[str], n: int
) -> None:
    fuse: list[object] = ["--fuse", *(tune.world / f"{name}.trec" for name in fused)] if fused else []
    hits = ["--hits", 12]
    result = tune(ranges, "--measures", *MEASURES, "--folds", 3, *fuse, *hits)
    assert result.code == 0, result.err
    assert stubbed.loaded == []  # no model
    found = tune.figures()
    assert len(found["tried"]) == n
    draw = random.Random(n)
    for tried in [found["default"], *draw.sample(found["tried"][1:], 5)]:
        config = tmp_path / "config.toml"
        config.write_text(as_toml(tried.get("settings", {})), encoding="utf-8")
        assert tune.searched(config, *fuse, *hits) == pytest.approx(tried["figures"]), tried
        assert tried["mean"] == pytest.approx(sum(tried["figures"].values()) / len(MEASURES))
    best = max(tried["mean"] for tried in found["tried"])
    assert found["chosen"]["mean"] == best
    assert tune.searched(tune.output, *fuse, *hits) == pytest.approx(found["chosen"]["figures"])
    values = tomllib.loads(tune.output.read_text(encoding="utf-8"))
    assert set(values) == ({"rank", "fusion"} if fused else {"rank"})
    assert f"{found['chosen']['mean']:.4f}" in result.out
    assert result.out.splitlines()[0] == (
        f"topics.tsv: {N_TOPICS} questions; {n} settings tried (grid), 3 folds, seed 0; mean of"
        " AnswerAccuracy@1, AnswerAccuracy@5, nDCG@10"
    )


def test_the_default_is_that_of_a_search(tune: Tune, tmp_path: Path) -> None:
    tune.preset = []
    assert tune(RANGES, "--measures", *MEASURES, "--folds", 3).code == 0
    found, nothing = tune.figures(), tmp_path / "nothing.toml"
    nothing.write_text("[decode]\nbeam = 15\nbody_steps = 10\n", encoding="utf-8")  # as the keys were made
    assert tune.searched(nothing) == pytest.approx(found["default"]["figures"])
    saved = json.loads((tmp_path / "run.trec.config.json").read_text(encoding="utf-8"))
    assert saved["preset"] == "balanced"
    assert tune.searched(tune.output) == pytest.approx(found["chosen"]["figures"])
    assert tomllib.loads(tune.output.read_text(encoding="utf-8"))["decode"] == {
        "beam": 15,
        "body_steps": 10,
        "title_steps": 64,
    }


@pytest.mark.slow
def test_coordinates_go_through_the_same_figures(tune: Tune) -> None:
    assert tune(RANGES, "--measures", *MEASURES, "--folds", 3).code == 0
    grid = {as_toml(tried["settings"]): tried["figures"] for tried in tune.figures()["tried"]}
    assert tune(RANGES, "--measures", *MEASURES, "--folds", 3, "--search", "coordinate").code == 0
    found = tune.figures()
    for tried in found["tried"]:
        known = grid.get(as_toml(tried["settings"]))
        assert known is None or known == pytest.approx(tried["figures"])
    assert found["chosen"]["mean"] >= found["default"]["mean"]
    assert found["chosen"]["mean"] == max(tried["mean"] for tried in found["tried"])


def test_the_same_bytes_again_with_more_threads(tune: Tune, tmp_path: Path) -> None:
    first = tune(RANGES, "--folds", 4, "--seed", 7)
    assert first.code == 0, first.err
    written = [path.read_bytes() for path in (tune.output, tmp_path / "tuned.toml.tune.json")]
    again = tune(RANGES, "--folds", 4, "--seed", 7, "--threads", 3)
    assert again.out == first.out
    assert written == [path.read_bytes() for path in (tune.output, tmp_path / "tuned.toml.tune.json")]


def test_settings_on_stdout_and_the_table_on_stderr(tune: Tune, tmp_path: Path) -> None:
    tune.output = Path("-")
    result = tune(RANGES)
    assert result.code == 0, result.err
    assert set(tomllib.loads(result.out)) == {"rank"}
    assert "settings tried (grid)" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["ranges.toml"]


def test_the_decoding_of_the_keys_and_the_base_stay(tune: Tune, tmp_path: Path, world: Path) -> None:
    copy = tmp_path / "world"
    shutil.copytree(world, copy)
    made = read_provenance(provenance_file(copy / "keys.jsonl"))
    other = replace(made, decode=replace(made.decode, beam=5))
    write_provenance(provenance_file(copy / "keys.jsonl"), other)
    path = copy / "keys.jsonl"
    path.write_text(path.read_text("utf-8").replace(made.fingerprint, other.fingerprint), encoding="utf-8")
    base = tmp_path / "base.toml"
    base.write_text("[rank]\nsmoothing = 1.0\n")
    tune.world = copy
    result = tune("[rank]\nalpha = [1.0]\n", "--config", base)
    assert result.code == 0, result.err
    values = tomllib.loads(tune.output.read_text(encoding="utf-8"))
    assert values["decode"] == {"beam": 5}
    assert values["rank"]["smoothing"] == 1.0
    assert "alpha" in values["rank"]
    assert tune.searched(tune.output)  # which would refuse these keys without [decode]
    base.write_text("[decode]\nbeam = 7\n")
    assert_fault(
        tune("[rank]\nalpha = [1.0]\n", "--config", base), 1, "made with beam = 5, preset intersective has 7"
    )


@pytest.mark.parametrize("name", [field.name for field in fields(RankConfig)])
def test_every_setting_of_ranking_may_have_a_range(tmp_path: Path, name: str) -> None:
    value = getattr(RankConfig(), name)
    path = tmp_path / "ranges.toml"
    path.write_text(f"[rank]\n{name} = [{json.dumps(value)}]\n", encoding="utf-8")
    space = read_space(path, preset("body").rank, None)
    assert getattr(space.setting(space.grid()[0]).rank, name) == value


@pytest.mark.parametrize("name", [field.name for field in fields(Fusion)])
def test_every_setting_of_fusion_may_have_a_range(tmp_path: Path, name: str) -> None:
    value = getattr(Fusion("interpolation"), name)
    path = tmp_path / "ranges.toml"
    path.write_text(f"[fusion]\n{name} = [{json.dumps(value)}]\n", encoding="utf-8")
    space = read_space(path, RankConfig(), Fusion("interpolation"))
    fusion = space.setting(space.grid()[0]).fusion
    assert getattr(fusion, name) == value


@pytest.mark.parametrize(
    ("ranges", "told"),
    [
        ("", "has no ranges; give values to try"),
        ("[rank]\n", "has no ranges"),
        ("[rank]\nalfa = [1.0]", "unknown setting 'alfa'; known are weight, score"),
        ("[rank]\nalpha = []", "rank.alpha = [] has no values; give some, or leave it out"),
        ("[rank]\nalpha = 2.0", "rank.alpha = 2.0 is no range; give a list of values"),
        ("[rank]\nalpha = [1.0, 1.0]", "rank.alpha holds 1.0 twice"),
        ("[rank]\nalpha = ['x']", "alpha = 'x' must be a float"),
        ("[rank]\nalpha = [-1.0]", "alpha is -1.0; it must be at least 0.0"),
        ("[rank]\nalpha = [nan]", "alpha is nan"),
        ("[rank]\nbeta = [0.5, 2.0]", "beta is 2.0; it must lie in [0, 1]"),
        ("[rank]\nalpha = { from = 1, to = 2 }", "it needs the numbers from, to and step"),
        ("[rank]\nalpha = { from = 1, to = 2, step = 0 }", "from 1 to 2 by 0 has no values"),
        ("[rank]\nalpha = { from = 2, to = 1, step = 1 }", "from 2 to 1 by 1 has no values"),
        ("[rank]\nalpha = { from = 1, to = inf, step = 1 }", "has no values"),
        ("[rank]\nalpha = { from = 0, to = 1, step = 1e-9 }", "has 1,000,000,000 values; give fewer"),
        ("[rank]\nweight = ['lm']", "weight 'lm' is negative and cannot be summed"),
        ("[rank]\nkinds = [['body', 'docid']]", "rank.kinds holds 'docid', and"),
        ("[rank]\nalpha = { from = 0, to = 9.9, step = 0.1 }\nmax_count = { from = 1, to = 99, step = 1 }",
         "9,900 combinations; a grid tries 5,000 at most"),
        ("[decode]\nbeam = [5]", "unknown table 'decode'; ranges live in [rank] and [fusion]; keys"),
        ("[fusion]\nrrf_k = [10]", "has a [fusion] table, but nothing is fused; name runs with --fuse"),
        ("rank = 3", "rank = 3 must be a table, [rank]"),
        ("[rank", "cannot read ranges"),
    ],
)  # fmt: skip
def test_ranges_that_mean_nothing(tune: Tune, ranges: str, told: str) -> None:
    assert_fault(tune(ranges), 2, told)
    assert not tune.output.exists()


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--ranges", "{folder}/none.toml"], 2, "none.toml: cannot read ranges"),
        (["--keys", "{folder}/none.jsonl"], 1, "none.jsonl.config.json: missing"),
        (["--index", "{folder}/none"], 1, "none: no such index directory"),
        (["--topics", "{folder}/none.tsv"], 1, "none.tsv"),
        (["--output", "{folder}"], 2, "is a folder"),
        (["--output", "/proc/none/tuned.toml"], 2, "/proc/none/tuned.toml"),
        (["--folds", "1"], 2, "--folds is 1; it must be at least 2"),
        (["--measures", "EM"], 2, "EM is of written answers; tune on a measure of rankings"),
        (["--folds", "15"], 2, "--folds 15: there are only 14 topics to divide"),
        (["--folds", "14", "--measures", "nDCG@10"], 2, "--folds 14: there are only 13 topics to divide"),
        (
            ["--folds", "14", "--measures", "nDCG@10", "AnswerAccuracy@1"],
            2,
            "has no topic judged for nDCG@10; fewer folds",
        ),
        (["--measures", "nDCG@1000"], 2, "nDCG@1000 looks deeper than --hits 100; raise that"),
        (["--measures", "NumRet"], 2, "NumRet is no mean over topics"),
        (["--measures", "nonsense"], 2, "measure not found"),
        (["--search", "random"], 2, "invalid choice"),
        (["--preset", "best"], 2, "invalid choice"),
        (["--qrels", "{folder}/one.trec", "--measures", "RR"], 1, "one.trec:1: 6 columns"),
        (["--fuse", "{folder}/none.trec"], 2, "none.trec"),
        (["--fuse", "{folder}/topics.tsv"], 1, "topics.tsv:1: 3 columns"),
        (["--preset", "published"], 1, "preset published decodes in another way than these keys were made"),
        (
            ["--preset", "minder"],
            2,
            "kinds holds 'pseudo_queries', and {folder}/keys.jsonl has body, title, query",
        ),
    ],
)
def test_bad_usage(tune: Tune, arguments: list[str], code: int, told: str) -> None:
    words = [word.format(folder=tune.world) for word in arguments]
    result = tune("[rank]\nmax_count = [10]\n", *words)
    if "invalid choice" in told:
        assert (result.code, told in result.err) == (code, True)
        return
    assert_fault(result, code, told.format(folder=tune.world))
    assert not tune.output.exists()


def test_what_does_not_belong_together(tune: Tune, world: Path, tmp_path: Path) -> None:
    ranges = "[rank]\nalpha = [1.0]\n"
    tiny.build(tmp_path / "other", documents()[1:])
    assert_fault(tune(ranges, "--index", tmp_path / "other"), 1, "made for another index than")
    topics = tmp_path / "topics.tsv"
    topics.write_text("q0\tquestion 0\nq1\tanother\n")
    assert_fault(
        tune(ranges, "--topics", topics, "--folds", 2), 1, "was encoded as 'question 1' and is now 'another'"
    )
    topics.write_text("q0\tquestion 0\nnew\tx\n")
    assert_fault(tune(ranges, "--topics", topics, "--folds", 2), 1, "no keys for topic 'new'")
    other = tmp_path / "other.trec"
    other.write_text("elsewhere 0 d1 1\n")
    assert_fault(tune(ranges, "--qrels", other, "--measures", "RR"), 1, "0 of 14 topics have judgements here")
    other.write_text("q1 Q0 d1 1 2.0 x\n")
    fused = "[fusion]\nweights = [[1, 1, 1]]\n"
    assert_fault(tune(fused, "--fuse", other), 2, "3 weights of fusion for 2 rankings")
    assert not tune.output.exists()


def test_topics_with_neither_answers_nor_judgements(
    tune: Tune, call: Runner, world: Path, tmp_path: Path
) -> None:
    ranges = tmp_path / "ranges.toml"
    ranges.write_text("[rank]\nalpha = [1.0]\n")
    given = {"topics": "topics.tsv", "keys": "keys.jsonl", "index": "index"}
    usual = [word for name, path in given.items() for word in (f"--{name}", world / path)]
    result = call(main, *usual, "--ranges", ranges, "--output", tune.output)
    assert_fault(result, 2, "no answers and no judgements to choose by; give --answers or --qrels")


def test_names_that_would_end_a_comment(tune: Tune, world: Path, tmp_path: Path) -> None:
    odd = tmp_path / "topics\n[rank]\x01😀.tsv"
    shutil.copy(world / "topics.tsv", odd)
    result = tune("[rank]\nalpha = [1.0]\n", "--topics", odd)
    assert result.code == 0, result.err
    text = tune.output.read_text(encoding="utf-8")
    assert "topics [rank]?😀.tsv" in text
    assert set(tomllib.loads(text)["rank"]) == {"alpha"}


def test_topics_that_are_not_judged_are_told(tune: Tune) -> None:
    result = tune("[rank]\nalpha = [1.0]\n", "--measures", "RR")
    assert result.code == 0, result.err
    assert "1 of 14 topics are not judged and are left out" in result.err
    assert tune.figures()["n_topics"] == 13
