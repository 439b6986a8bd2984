"""Tables as text, Markdown, LaTeX, CSV and JSON; what they are measured from."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.eval.significance import Resampling
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce import layout, writing
from seal_ir.reproduce.figures import Figure, Measured, check_questions, measure, write_topics
from seal_ir.reproduce.plan import Plan, imported, make_plan
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.tables import row, write_table

# Six topics: Perfect has them all, Empty none; the part is topics 0 to 2.
SIX = """
title = "Six & more"
source = "a paper"
note = "All invented."
baseline = "Empty"
[[topics]]
name = "six"
label = "Six questions"
measures = ["Success@1", "SecondsPerQuery"]
[[topics]]
name = "part"
within = "six"
sample = "part.ids.txt"
measures = ["Rprec"]
[[topics]]
name = "copy"
label = "the same"
within = "six"
measures = ["Rprec"]
[[topics]]
name = "average"
mean_of = ["part", "copy"]
measures = ["Rprec"]
[[row]]
system = "Perfect"
missing = "x"
published.six = { "Success@1" = 76.2 }
[[row]]
system = "Empty"
missing = "x"
[[row]]
system = "Paper_only"
missing = "a model (100 GB)"
source = "another paper"
published.six = { "Success@1" = 8, "SecondsPerQuery" = 0.25 }
published.average = { "Rprec" = 33.1 }
"""


@pytest.fixture
def places(places: Places, tmp_path: Path) -> Places:
    (tmp_path / "part.ids.txt").write_text("0\n1\n2\n", encoding="utf-8")
    return places


Parts = tuple[TableSpec, Measured, Plan]


def made(
    places: Places,
    tmp_path: Path,
    text: str = SIX,
    runs: tuple[str, ...] = ("Perfect=six:all", "Empty=six:none"),
) -> Parts:
    spec = read_spec(write_table(tmp_path, text, "six"), tmp_path / "results", places)
    spec = imported(spec, [f"{run.replace(':', f':{places.data}/')}.trec" for run in runs])
    plan = make_plan(spec, places.cache)
    for topics in plan.topics:
        write_topics(topics, places)
    return spec, measure(spec, plan.topics, places, {}, Resampling()), plan


def test_text(places: Places, tmp_path: Path) -> None:
    spec, measured, plan = made(places, tmp_path)
    assert writing.as_text(spec, measured, plan.lacks).splitlines() == [
        "Six & more",
        "",
        "Six questions",
        "system      hits@1  hits@1, published  s/query, published",
        "Perfect     1.000*              0.762",
        "Empty        0.000",
        "Paper_only                      0.080                0.25",
        "",
        "R-precision",
        "system       part  the same  average  average, published",
        "Perfect     1.000    1.000*    1.000",
        "Empty       0.000     0.000    0.000",
        "Paper_only                                         0.331",
        "",
        "# Six questions: 6 questions; hits@1 over 6",
        "# part: 3 questions; R-precision over 3",
        "# the same: 6 questions; R-precision over 6",
        "# *: p < 0.05 against Empty (paired randomisation test, two-sided, Holm over the 1 compared with it,"
        " seed 0)",
        "# published: a paper",
        "# published, Paper_only: another paper",
        "# All invented.",
        f"# {', '.join(f'{name} {number}' for name, number in writing.versions().items())}",
        "# not made here: Paper_only: a model (100 GB)",
    ]


def test_the_note_says_over_how_many_systems_holms_correction_is(places: Places, tmp_path: Path) -> None:
    """Where a set or a measure has fewer of them than another."""
    spec, measured, plan = made(places, tmp_path)
    compared = next(figure.comparison for figure in measured.figures if figure.comparison)
    more = [Figure(name, "six", "Success@1", 1.0, comparison=compared) for name in ("B", "C")]
    measured = Measured([*measured.figures, *more], measured.tables)
    assert "Holm over the 1 to 3 compared with it, seed 0" in writing.as_text(spec, measured, plan.lacks)


def test_markdown(places: Places, tmp_path: Path) -> None:
    spec, measured, plan = made(places, tmp_path)
    lines = writing.as_markdown(spec, measured, plan.lacks).splitlines()
    assert lines[:7] == [
        "**Six & more**",
        "",
        "Six questions:",
        "",
        "| system | hits@1 | hits@1, published | s/query, published |",
        "| --- | ---: | ---: | ---: |",
        "| Perfect | 1.000* | 0.762 |  |",
    ]
    at = lines.index("<details><summary>95 % intervals, and p against Empty</summary>")
    assert lines[at + 1 : at + 4] == ["", "Six questions:", ""]
    assert "R-precision:" in lines[at : lines.index("</details>")]
    assert lines[at + 4 : at + 8] == [
        "| system | hits@1 |",
        "| --- | ---: |",
        "| Perfect | 1.000–1.000, p 0.0312 |",
        "| Empty | 0.000–0.000 |",
    ]
    assert lines[-2:] == ["", "- not made here: Paper_only: a model (100 GB)"]
    assert any("\\*: p < 0.05 against Empty" in line for line in lines)


def test_latex(places: Places, tmp_path: Path) -> None:
    spec, measured, plan = made(places, tmp_path)
    text = writing.as_latex(spec, measured, plan.lacks)
    assert r"\caption{Six \& more}" in text
    assert (
        "\\begin{tabular}{lrrr}\n\\toprule\nsystem & hits@1 & hits@1, published & s/query, published \\\\\n"
        in text
    )
    assert "Perfect & 1.000$^{*}$ & 0.762 &  \\\\\n" in text
    assert "Paper\\_only &  & 0.080 & 0.25 \\\\\n\\bottomrule\n\\end{tabular}" in text
    assert text.count(r"\begin") == text.count(r"\end") == 3
    assert text.endswith("% not made here: Paper_only: a model (100 GB)\n")


def test_json(places: Places, tmp_path: Path) -> None:
    spec, measured, plan = made(places, tmp_path)
    value = json.loads(writing.as_json(spec, measured, plan.lacks))
    rows = {(record["system"], record["topics"], record["measure"]): record for record in value["rows"]}
    perfect = rows["Perfect", "six", "Success@1"]
    assert perfect == {
        "system": "Perfect",
        "topics": "six",
        "measure": "Success@1",
        "value": 1.0,
        "ci": [1.0, 1.0],
        "n": 6,
        "recorded": None,
        "published": pytest.approx(0.762),
        "source": "a paper",
        "baseline": "Empty",
        "delta": 1.0,
        "p": pytest.approx(2 / 64),
        "p_holm": pytest.approx(2 / 64),
        "wins": 6,
        "ties": 0,
        "losses": 0,
        "delta_ci": [1.0, 1.0],
        "run": f"{places.data}/all.trec",
        "command": None,
    }
    assert rows["Empty", "part", "Rprec"]["p"] is None
    paper = rows["Paper_only", "six", "SecondsPerQuery"]
    assert (paper["value"], paper["published"], paper["source"], paper["run"]) == (
        None,
        0.25,
        "another paper",
        None,
    )
    assert ("Paper_only", "part", "Rprec") not in rows
    assert value["topics"][1] == {
        "name": "part",
        "label": "part",
        "measures": ["Rprec"],
        "n_topics": 3,
        "n_answered": None,
        "n_judged": 3,
        "matching": None,
        "level": "passage",
        "in_run": {"Perfect": 3, "Empty": 3},
    }
    assert value["missing"] == [
        {"system": "Paper_only", "topics": "", "needs": ["a model (100 GB)"], "commands": []}
    ]
    assert value["statistics"]["resamples"] == 10_000
    assert value["baseline"] == "Empty"


def test_csv(places: Places, tmp_path: Path) -> None:
    spec, measured, plan = made(places, tmp_path)
    text = writing.as_csv(spec, measured, plan.lacks)
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == len(measured.figures)
    assert (lines[0]["system"], lines[0]["value"], lines[0]["ci_lo"], lines[0]["wins"]) == (
        "Perfect",
        "1.0",
        "1.0",
        "6",
    )
    assert lines[-1]["published"] == "0.331"
    assert lines[-1]["value"] == ""


def test_differences_by_topic_are_written(places: Places, tmp_path: Path) -> None:
    made(places, tmp_path)
    lines = (tmp_path / "results" / "six" / "six" / "deltas.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "0\tPerfect\tEmpty\tSuccess@1\t1.0\t0.0\t1.0"
    assert len(lines) == 7


def test_without_its_baseline_nothing_is_compared(places: Places, tmp_path: Path) -> None:
    spec, measured, plan = made(places, tmp_path, runs=("Perfect=six:all",))
    assert not any(figure.comparison for figure in measured.figures)
    assert "*" not in writing.as_text(spec, measured, plan.lacks)
    assert layout.interval_blocks(spec, measured) == []


def test_only_the_systems_named_are_compared(places: Places, tmp_path: Path) -> None:
    text = SIX.replace('baseline = "Empty"', 'baseline = "Empty"\ncompare = ["Perfect"]')
    runs = ("Perfect=six:all", "Empty=six:none", "Third=six:all")
    for table, systems in ((text, {"Perfect"}), (SIX, {"Perfect", "Third"})):
        _, measured, _ = made(places, tmp_path, table, runs)
        assert {figure.system for figure in measured.figures if figure.comparison} == systems
        (p,) = {f.comparison.p_holm for f in measured.figures if f.comparison and f.topics == "six"}
        assert p == pytest.approx(len(systems) * 2 / 64)


def test_costs(places: Places, tmp_path: Path) -> None:
    index = tmp_path / "index"
    index.mkdir()
    (index / "a").write_bytes(bytes(3_000_000))
    (tmp_path / "data" / "all.trec.config.json").write_text(
        '{"seconds": 90, "n_topics": 6}', encoding="utf-8"
    )
    text = SIX.replace('"SecondsPerQuery"]', '"SecondsPerQuery", "SearchMinutes", "IndexGB", "BuildHours"]')
    text = text.replace('system = "Perfect"\n', f'system = "Perfect"\nsize_of = "{index}"\n')
    _, measured, _ = made(places, tmp_path, text)
    found = {figure.measure: figure.value for figure in measured.figures if figure.system == "Perfect"}
    assert found["SecondsPerQuery"] == 15.0
    assert found["SearchMinutes"] == 1.5
    assert found["IndexGB"] == pytest.approx(0.003)
    assert "BuildHours" not in found  # no step built it here
    (tmp_path / "data" / "all.trec.config.json").write_text('{"seconds": 90}', encoding="utf-8")
    with pytest.raises(InputError, match=r"all.trec.config.json: no settings of a run"):
        made(places, tmp_path, text)


def test_build_hours_are_those_of_the_steps_that_made_the_index(places: Places, tmp_path: Path) -> None:
    text = 'title = "x"\nmeasures = ["BuildHours"]\n'
    text += '[[step]]\ncommand = "-m build {here}/i"\nmakes = ["{here}/i/a"]\n'
    text += row("A", 'size_of = "{here}/i"')
    spec = read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    timings = {str(spec.steps[0]): 1800.0}
    (figure,) = measure(spec, (), places, timings, Resampling()).figures
    assert (figure.value, figure.topics) == (0.5, "two")
    assert measure(spec, (), places, {}, Resampling()).figures == ()


def test_topics_are_written_on_one_line_each(places: Places, tmp_path: Path) -> None:
    data = tmp_path / "data" / "topics"
    (data / "lines.jsonl").write_text('{"qid": "a", "title": "one\\ntwo\\tthree"}\n', encoding="utf-8")
    text = SIX.replace('name = "six"', 'name = "six"\ntopics = "lines"')
    spec = read_spec(write_table(tmp_path, text, "six"), tmp_path / "results", places)
    write_topics(spec.topics[0], places)
    assert spec.topics[0].file.read_text(encoding="utf-8") == "a\tone two three\n"
    before = spec.topics[0].file.stat().st_mtime_ns
    write_topics(spec.topics[0], places)
    assert spec.topics[0].file.stat().st_mtime_ns == before
    with pytest.raises(InputError, match="part.ids.txt: topic '0' is not one of lines"):
        write_topics(spec.topics[1], places)
    (tmp_path / "part.ids.txt").unlink()
    with pytest.raises(InputError, match="part.ids.txt: cannot be read"):
        write_topics(spec.topics[1], places)


@pytest.mark.parametrize(
    ("lines", "error", "told"),
    [
        ('measures = ["rprec"]', UsageError, "'rprec': "),
        ('measures = ["RPrec"]', InputError, "table six: measure RPrec of six: write Rprec"),
        ('measures = ["P.5,10"]', InputError, "table six: measure P.5,10 of six: write P@5 P@10"),
        ('measures = ["AnswerAccuracy@5"]', InputError, "table six: 'index' is missing"),
        ('topics = "six"\nindex', InputError, "answers 'six': no such file"),
        ('answers = "two"\nindex', InputError, "0 of 6 topics have answers"),
        ('qrels = "two"\nmeasures = ["Rprec"]', InputError, "0 of 6 topics have judgements"),
    ],
)
def test_measures_that_cannot_be(
    places: Places, tmp_path: Path, lines: str, error: type[Exception], told: str
) -> None:
    lines = lines.replace("index", 'measures = ["AnswerAccuracy@5"]')
    head = 'index = "x"\n' if lines.count("\n") else ""
    text = f'title = "x"\n{head}[[topics]]\nname = "six"\n{lines}\n' + row("A", 'missing = "x"')
    spec = read_spec(write_table(tmp_path, text, "six"), tmp_path / "results", places)
    write_topics(spec.topics[0], places)
    with pytest.raises(error, match=told):
        check_questions(spec, spec.topics[0], places)


def test_what_is_missing_is_told_once(tmp_path: Path) -> None:
    text = """
title = "x"
[need.model]
what = "a model"
get = "train it"
[need.ids]
what = "ids"
[[topics]]
name = "whole"
measures = ["Rprec"]
[[topics]]
name = "part"
within = "whole"
needs = ["ids"]
measures = ["Rprec"]
"""
    for name in "ab":
        text += f'[[step]]\ncommand = "-m s {{topics}} {{data}}/x"\nmakes = ["{{out}}/{name}"]\n'
        text += 'needs = ["model"]\n'
        text += row(name.upper(), f'run = "{name}"')
    text += row("C", 'missing = "a dream"')
    spec = read_spec(write_table(tmp_path, text), tmp_path, Places(None, tmp_path, tmp_path))
    lacks = make_plan(spec, tmp_path).lacks
    assert layout.lacking(spec, lacks) == [
        "not made here: A, B (whole): a model; the folder of real data",
        "not made here: A, B (part): ids",
        "not made here: C: a dream",
        "a model: train it",
        "the folder of real data: set SEAL_IR_DATA to it",
    ]
    assert lacks[0].commands == (f'python -m s {spec.topics[0].file} "$SEAL_IR_DATA/x"',)


def test_labels() -> None:
    names = ("AnswerAccuracy@5", "Success@10", "Rprec", "nDCG@10", "RR", "IndexGB")
    assert [layout.label(name) for name in names] == [
        "accuracy@5",
        "hits@10",
        "R-precision",
        "nDCG@10",
        "RR",
        "index GB",
    ]
