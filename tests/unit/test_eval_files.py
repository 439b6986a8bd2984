"""The tables of this repository: readable, with commands that exist, and the paper's cells as they are."""

from __future__ import annotations

import argparse
import importlib
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seal_ir.encode.options import parse
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.plan import check_reached, chosen, make_plan
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import Step, TableSpec
from seal_ir.search.options import configured

ROOT = Path(__file__).parents[2]
TABLES = sorted(path.stem for path in (ROOT / "eval").glob("*.toml"))
PARSERS = {  # where the options are, if not in __main__
    "seal_ir.search": "seal_ir.search.options",
    "seal_ir.train data": "seal_ir.train.data.command",
    "seal_ir.train fit": "seal_ir.train.fit.command",
    "seal_ir.train convert": "seal_ir.train.convert_command",
}
FOREIGN = ("seal_ir.pyserini_plugin",)  # hands its arguments to Pyserini


def spec_of(name: str, tmp_path: Path) -> TableSpec:
    places = Places(tmp_path / "data", ROOT / "collections", tmp_path / "cache")
    return read_spec(ROOT / "eval" / f"{name}.toml", tmp_path / "results", places)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_read_and_planned(name: str, tmp_path: Path) -> None:
    spec = spec_of(name, tmp_path)
    check_reached(spec, Path(name), tmp_path / "cache")
    plan = make_plan(spec, tmp_path)
    made = {lack.system for lack in plan.lacks}
    assert spec.rows
    assert all(row.system in made or row.runs for row in spec.rows)
    assert all(
        topics.sample is None or "overlap" in topics.name or topics.sample.is_file() for topics in spec.topics
    )


@pytest.mark.parametrize("name", TABLES)
def test_the_options_of_every_command_exist(name: str, tmp_path: Path) -> None:
    for made in spec_of(name, tmp_path).steps:
        check_options(made)


def check_options(made: Step) -> None:
    flag, module, *words = shlex.split(str(made))[1:]
    if flag == "-c":
        return
    if module in FOREIGN:
        return
    if module == "seal_ir.encode":  # its options come in groups
        parse(words)
        return
    if module == "seal_ir.train":
        module, *words = f"{module} {words[0]}", *words[1:]
    home = importlib.import_module(PARSERS.get(module, f"{module}.__main__"))
    make: Callable[[], argparse.ArgumentParser] = getattr(home, "parser", None) or home._parser
    args = make().parse_args(words)
    if getattr(args, "config", None):
        for preset in args.preset:
            configured(preset, args.config)


# The cells as the paper has them: percentages, GB, hours, minutes.
NQ = """
BM25 43.6/62.9/78.1; DPR 68.3/80.1/86.1; GAR 59.3/73.9/85.0; DSI-BART 28.3/47.3/65.5;
SEAL LM |n|=5 40.5/60.2/73.1; SEAL LM+FM 43.9/65.8/81.1; SEAL intersective 61.3/76.2/86.3
"""
NQ320K = """
BM25 22.7/59.0; BM25 (gensim) 15.3/44.5; DSI-BART 25.0/63.6; GENRE 26.3/71.2; SEAL LM |n|=3 21.3/66.5;
SEAL LM |n|=4 22.2/68.2; SEAL LM |n|=5 22.6/68.7; SEAL LM+FM 25.3/72.0; SEAL intersective 26.3/74.5
"""
KILT = """
BM25 40.1/51.6/53.0/14.2/38.4/16.2/18.4/33.1; SEAL LM+FM 31.5/42.0/34.0/21.7/24.7/21.4/17.6/27.6;
SEAL intersective 67.8/58.9/78.8/43.6/54.3/41.8/36.0/54.5
"""
BEAM = """
LM+FM beam 15 65.8/81.1; LM+FM beam 10 65.4/80.8; LM+FM beam 5 64.7/79.9; LM+FM beam 3 63.3/78.0;
LM+FM beam 15 unconstrained 65.3/80.1; intersective beam 15 76.2/86.3; intersective beam 10 76.4/86.4;
intersective beam 5 75.9/85.8; intersective beam 3 75.2/84.9; intersective beam 15 unconstrained 76.2/86.2
"""
DATA = "supervised and unsupervised 76.2/86.3; supervised only 74.8/85.4; unsupervised only 61.7/76.3"
PUBLISHED = {
    "nq": NQ,
    "nq320k": NQ320K,
    "kilt": KILT,
    "ablation-constraint-beam": BEAM,
    "ablation-data": DATA,
    "index-size": "the text 13.4; DPR 64.6; BM25 (Lucene) 18.8; SEAL 8.8/6",
    "speed": "SEAL intersective beam 5 16; SEAL intersective beam 15 35",
}
OVERLAP = ("answer-overlap", "no-answer-overlap", "question-overlap", "no-question-overlap")


def cells(spec: TableSpec, sets: Sequence[str]) -> dict[str, list[float]]:
    """The published figures of each row on these sets, in the order of the columns, as printed."""
    order = [(known.name, name) for known in spec.topics if known.name in sets for name in known.measures]
    return {
        row.system: [
            round(figure * (1 if name in LABELS else 100), 6)
            for topics, name in order
            if (figure := row.published.get(topics, {}).get(name)) is not None
        ]
        for row in spec.rows
    }


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_published_cells(name: str, tmp_path: Path) -> None:
    spec = spec_of(name, tmp_path)
    expected = {}
    for entry in PUBLISHED[name].replace("\n", " ").split(";"):
        system, _, figures = entry.strip().rpartition(" ")
        expected[system] = [float(figure) for figure in figures.split("/")]
    sets = [topics.name for topics in spec.topics if topics.name not in OVERLAP]
    found = {system: figures for system, figures in cells(spec, sets).items() if figures}
    assert found == expected
    assert list(found) == list(expected)
    assert spec.source.startswith("Bevilacqua et al., ")


def test_published_cells_of_the_overlap_split(tmp_path: Path) -> None:
    found = cells(spec_of("nq", tmp_path), OVERLAP)
    assert {system: figures for system, figures in found.items() if figures} == {
        "SEAL intersective": [91.2, 77.7, 93.2, 84.1]
    }


def test_published_averages_of_kilt_are_those_of_their_cells(tmp_path: Path) -> None:
    spec = spec_of("kilt", tmp_path)
    published = filter(None, cells(spec, [topics.name for topics in spec.topics]).values())
    for figures in published:
        assert sum(figures[:-1]) / 7 == pytest.approx(figures[-1], abs=0.051)


CHAINS = {  # what has to be done for a row alone, in order
    ("nq", "DPR"): "train convert, index, baselines.dense, baselines.dense",
    ("nq", "GAR"): "train convert, index, baselines.gar",
    (
        "nq",
        "DSI-BART",
    ): "train convert, index, baselines.dense, baselines.docids, train data, train fit, index, search",
    ("nq320k", "BM25 (gensim)"): "baselines.gensim_bm25",
    ("nq320k", "DSI-BART"): "baselines.dense, baselines.docids, train data, train fit, index, search",
    ("nq320k", "GENRE"): "train data, train fit, index, search",
    ("kilt", "BM25"): "convert, baselines.bm25",
    ("kilt", "SEAL intersective"): "convert, train convert, index, search",
    ("index-size", "DPR"): "baselines.dense",
}


@pytest.mark.parametrize(("name", "system"), list(CHAINS))
def test_rows_of_other_systems_have_all_their_steps(name: str, system: str, tmp_path: Path) -> None:
    lacks = make_plan(chosen(spec_of(name, tmp_path), [system]), tmp_path / "cache").lacks
    commands = [shlex.split(command)[2:4] for command in lacks[0].commands]  # answers are looked up in ours
    done = [" ".join(words if words[0] == "seal_ir.train" else words[:1]) for words in commands]
    assert ", ".join(done).replace("seal_ir.", "") == CHAINS[name, system]


def test_every_row_of_the_papers_tables_is_made_by_steps(tmp_path: Path) -> None:
    tables = {name: [row.system for row in spec_of(name, tmp_path).rows if row.missing] for name in PUBLISHED}
    assert {name for name, systems in tables.items() if systems} == set()


def test_the_sample_of_200_is_the_beginning_of_that_of_500() -> None:
    few, many = ((ROOT / "eval" / f"nq-test-{n}.ids.txt").read_text("utf-8").split() for n in (200, 500))
    assert many[:200] == few
    assert (len(few), len(set(many))) == (200, 500)
