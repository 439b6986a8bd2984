"""What a table says around its figures, and how it is printed, to the letter."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.per_topic import check_rows_path, write_per_topic, write_rows
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage
from seal_ir.eval.significance import Resampling
from seal_ir.eval.subsets import ALL, IN_RUN, JUDGED, averaged, part_of
from seal_ir.eval.table_formats import as_json, as_markdown, as_text, shown_p
from seal_ir.eval.tables import Comparison, Interval, Result, Statistics, Table

COLUMNS = parse_measures(["AnswerAccuracy@1", "P@1", "AP", "EM"])
NAMES = [column.name for column in COLUMNS]
QUESTIONS = Questions(
    "own",
    ["1", "2", "3", "4"],
    answers={"1": ["x"], "2": ["y"]},
    qrels={"1": {"a": 1}, "2": {"b": 1}, "3": {"a": 1}},
    evidence={"1": [["a"]], "2": [["b"]], "3": [["a"]]},
    golds={"4": ["z"]},
)
BY_TOPIC = {
    "AnswerAccuracy@1": {"1": 1.0, "2": 0.0, "3": 0.0, "4": 0.0},
    "P@1": {"1": 1.0, "2": 0.0, "3": 1.0},
    "AP": {"1": 0.5, "2": 0.25, "3": 1.0},
    "EM": {"1": 0.0, "2": 0.0, "3": 0.0, "4": 1.0},
}
FIGURES = {"AnswerAccuracy@1": 0.25, "P@1": 2 / 3, "AP": 1.75 / 3, "EM": 0.25}
COVERAGE = Coverage(4, 3, 2, 2, 1, 0)
RESULT = Result("one", Path("runs/one.trec"), COVERAGE, FIGURES, BY_TOPIC, frozenset("14"))
VERSIONS = f"seal-ir {version('seal-ir')}, ir-measures {version('ir-measures')}"


@pytest.fixture
def table() -> Table:
    """Two systems alike but for what they have results for."""
    both = (RESULT, replace(RESULT, system="two", path=Path("two.trec"), in_run=frozenset("124")))
    return Table(QUESTIONS, COLUMNS, both, "the rule", None)


def test_notes_say_what_figures_are_over(table: Table) -> None:
    accuracy, written = "answers in bodies by the rule", "written answers, as in KILT's evaluation"
    assert table.notes() == [
        "topics: own, 4 questions",
        f"accuracy@k: over all 4 topics (2 have answers); {accuracy}",
        "P@1, AP: over all 3 judged topics; passage level",
        f"EM: over all 4 topics (1 have answers); {written}",
        VERSIONS,
    ]
    assert replace(table, average=JUDGED, delimiter="#").notes()[1:4] == [
        f"accuracy@k: over the 2 topics with answers, of 4; {accuracy}",
        "P@1, AP: over all 3 judged topics; page level, ids cut at '#'",
        f"EM: over the 1 topics with answers, of 4; {written}",
    ]
    has_results = "that the run has results for"
    assert replace(table, average=IN_RUN).notes()[1:4] == [
        f"accuracy@k: over the 2 topics with answers, of 4 {has_results}; {accuracy}",
        f"P@1, AP: over all 3 judged topics {has_results}; passage level",
        f"EM: over the 1 topics with answers, of 4 {has_results}; {written}",
    ]
    two = parse_measures(["EM", "F1"])
    assert replace(table, columns=two, matching=None).notes()[1:-1] == [
        f"EM, F1: over all 4 topics (1 have answers); {written}"
    ]
    nothing = Questions("own", ["1"])
    assert replace(table, questions=nothing).notes() == ["topics: own, 1 questions", VERSIONS]


def test_averages_over_fewer_topics(table: Table) -> None:
    assert averaged(table, ALL) is table
    judged = averaged(table, JUDGED)
    assert judged.average == JUDGED
    for result in judged.results:
        assert {name: sorted(values) for name, values in result.values.items()} == {
            "AnswerAccuracy@1": ["1", "2"],
            "P@1": ["1", "2", "3"],
            "AP": ["1", "2", "3"],
            "EM": ["4"],
        }
        assert result.figures == {"AnswerAccuracy@1": 0.5, "P@1": 2 / 3, "AP": 1.75 / 3, "EM": 1.0}
    one, two = averaged(table, IN_RUN).results
    assert {name: sorted(values) for name, values in one.values.items()} == {
        **{"AnswerAccuracy@1": ["1"], "P@1": ["1"], "AP": ["1"]},
        "EM": ["4"],
    }
    assert (one.figures["AP"], two.figures["AP"], sorted(two.values["AP"])) == (0.5, 0.375, ["1", "2"])
    assert (one.system, one.path, one.coverage) == ("one", RESULT.path, COVERAGE)
    lacking = replace(table, results=(RESULT, replace(RESULT, system="none", in_run=frozenset("3"))))
    with pytest.raises(UsageError) as told:
        averaged(lacking, IN_RUN)
    assert str(told.value) == (
        "AnswerAccuracy@1: none has results for no topic that it could be averaged over; leave out the run,"
        " or --average in-run"
    )


def test_a_part_has_the_figures_and_the_questions_of_its_topics(table: Table) -> None:
    part = part_of(table, "some", {"1", "4"})
    assert part is not None
    assert part.questions == Questions(
        "some", ["1", "4"], {"1": ["x"]}, {"1": {"a": 1}}, {"1": [["a"]]}, {"4": ["z"]}
    )
    assert part.results[0].figures == {"AnswerAccuracy@1": 0.5, "P@1": 1, "AP": 0.5, "EM": 0.5}
    assert part.results[1].values["EM"] == {"1": 0.0, "4": 1.0}
    assert part_of(table, "not judged", {"4"}) is None
    bare = part_of(replace(table, questions=Questions("own", list("1234"))), "some", {"1"})
    assert bare is not None
    assert bare.questions == Questions("some", ["1"])


def test_rows_of_a_table_and_of_its_parts(table: Table) -> None:
    part = part_of(table, "some", {"1", "4"})
    assert part is not None
    rows = replace(table, parts=(part,)).rows()
    assert [(row["topics"], row["system"], row["measure"], row["n"]) for row in rows] == [
        (topics, system, name, n)
        for topics, sizes in (("own", [4, 3, 3, 4]), ("own: some", [2, 1, 1, 2]))
        for system in ("one", "two")
        for name, n in zip(NAMES, sizes, strict=True)
    ]
    assert rows[2] == {"system": "one", "topics": "own", "measure": "AP", "value": 1.75 / 3, "n": 3}
    assert all("ci" not in row for row in rows)
    intervals = [{"AP": Interval(0.25, 0.75)}, {}]
    rows = replace(table, statistics=Statistics(Resampling(), intervals)).rows()
    assert [row["ci"] for row in rows] == [None, None, (0.25, 0.75), *[None] * 5]


def test_a_part_of_a_sum_is_a_sum() -> None:
    (column,) = parse_measures(["NumRet"])
    by_topic = {"NumRet": {"1": 3.0, "2": 4.0, "3": 5.0}}
    result = Result("one", Path("one"), COVERAGE, {"NumRet": 12.0}, by_topic)
    questions = Questions("own", ["1", "2", "3"], None, {qid: {"a": 1} for qid in "123"})
    part = part_of(Table(questions, [column], [result], None, None), "some", {"1", "3"})
    assert part is not None
    assert part.results[0].figures == {"NumRet": 8.0}


@pytest.fixture
def small(table: Table) -> Table:
    """One measure of each kind less, so that a table fits a line."""
    return replace(table, columns=parse_measures(["P@1", "EM"]), matching=None)


NOTES = (
    "topics: own, 4 questions",
    "P@1: over all 3 judged topics; passage level",
    "EM: over all 4 topics (1 have answers); written answers, as in KILT's evaluation",
    VERSIONS,
)


def test_text_and_markdown_of_figures_and_parts(small: Table) -> None:
    part = part_of(small, "some", {"1", "4"})
    assert part is not None
    table = replace(small, parts=(part,))
    assert as_text(table) == "\n".join(
        [
            "system     P@1      EM",
            "one     0.6667  0.2500",
            "two     0.6667  0.2500",
            *(f"# {note}" for note in NOTES),
            "",
            "topics  system  n     P@1      EM",
            "some    one     2  1.0000  0.5000",
            "some    two     2  1.0000  0.5000",
            "",
        ]
    )
    assert as_markdown(table) == "\n".join(
        [
            "| system | P@1 | EM |",
            "| --- | ---: | ---: |",
            "| one | 0.6667 | 0.2500 |",
            "| two | 0.6667 | 0.2500 |",
            "",
            *(f"- {note}" for note in NOTES),
            "",
            "| topics | system | n | P@1 | EM |",
            "| --- | --- | ---: | ---: | ---: |",
            "| some | one | 2 | 1.0000 | 0.5000 |",
            "| some | two | 2 | 1.0000 | 0.5000 |",
            "",
        ]
    )


def test_how_many_topics_figures_are_over_is_shown_where_it_is_not_all(small: Table) -> None:
    heads = [line.split("  ") for line in as_text(averaged(small, JUDGED)).splitlines()[:2]]
    assert heads[0] == ["system", "P@1 (n=3)", "EM (n=1)"]
    lone = as_text(averaged(replace(small, results=[RESULT]), JUDGED)).splitlines()
    assert lone[:2] == ["system  P@1 (n=3)  EM (n=1)", "one        0.6667    1.0000"]
    part = part_of(small, "some", {"1", "4"})
    assert part is not None
    table = averaged(replace(small, parts=(part,)), IN_RUN)
    assert as_text(table).splitlines()[:3] == [
        "system           P@1            EM",
        "one     1.0000 (n=1)  1.0000 (n=1)",
        "two     0.5000 (n=2)  1.0000 (n=1)",
    ]
    assert as_text(table).splitlines()[-2:] == [
        "some    one     2  1.0000 (n=1)  0.5000 (n=2)",
        "some    two     2  1.0000 (n=1)  0.5000 (n=2)",
    ]


def test_intervals_of_written_answers_and_comparisons_go_below(small: Table) -> None:
    options = Resampling(level=0.9, resamples=2000, permutations=3000, seed=5)
    intervals = [{"P@1": Interval(0.25, 1.0), "EM": Interval(0.0, 0.75)}, {"EM": Interval(0.125, 0.5)}]
    table = replace(small, statistics=Statistics(options, intervals))
    note = "90 % intervals: percentile bootstrap, 2,000 resamples"
    assert as_text(table).split("\n\n")[1].splitlines() == [
        "measure  system  figure              90 %",
        "P@1      one     0.6667  [0.2500, 1.0000]",
        "P@1      two     0.6667",
        "EM       one     0.2500  [0.0000, 0.7500]",
        "EM       two     0.2500  [0.1250, 0.5000]",
        f"# {note}; over topics, seed 5",
    ]
    assert as_markdown(table).splitlines()[-8:-6] == [
        "| measure | system | figure | 90 % |",
        "| --- | --- | ---: | ---: |",
    ]
    judged = replace(table, columns=parse_measures(["P@1"]))
    assert "\n\n" not in as_text(judged)  # runs have theirs in the JSON
    found = Comparison("two", "one", "EM", 4, -0.25, Interval(-0.5, 0.25), 0.25, 0.00001, 1, 2, 3)
    table = replace(small, statistics=Statistics(options, intervals, [found]))
    text = as_text(table).split("\n\n")[1].splitlines()
    head = ["measure", "system", "figure", "90 %", "less one", "90 %", "p", "p (Holm)", "w/t/l"]
    assert re.split("  +", text[0]) == head
    assert [line.split() for line in text[1:-1]] == [
        ["P@1", "one", "0.6667", "[0.2500,", "1.0000]"],
        ["EM", "one", "0.2500", "[0.0000,", "0.7500]"],
        ["EM", "two", "0.2500", "[0.1250,", "0.5000]", "-0.2500", "[-0.5000,", "+0.2500]"]
        + ["0.2500", "<0.0001", "1/2/3"],
    ]
    assert text[-1] == (
        f"# {note}; p: paired randomisation test, two-sided, exact or 3,000 permutations; Holm over the 1"
        " compared; over topics, seed 5"
    )


@pytest.mark.parametrize(
    ("p", "shown"), [(1.0, "1.0000"), (0.0001, "0.0001"), (0.00009, "<0.0001"), (1e-300, "<0.0001")]
)
def test_p_values_are_never_shown_as_0(p: float, shown: str) -> None:
    assert shown_p(p) == shown


def test_json_has_all_that_figures_rest_on(small: Table) -> None:
    nan = replace(RESULT, figures={"P@1": float("nan"), "EM": 0.25})
    findings = [Finding("depth", "it is deep")]
    table = replace(small, results=(nan,), delimiter="#", average=JUDGED, findings=findings)
    value = json.loads(as_json(table))
    rows = value.pop("rows")
    assert value == {
        "topics": "own",
        "n_topics": 4,
        "n_answered": None,
        "matching": None,
        "level": "page",
        "delimiter": "#",
        "average": "judged",
        "versions": {"seal-ir": version("seal-ir"), "ir-measures": version("ir-measures")},
        "warnings": [{"kind": "depth", "text": "it is deep"}],
        "systems": {
            "one": {
                "run": "runs/one.trec",
                **{"topics": 4, "judged": 3, "in_run": 2, "judged_in_run": 2, "relevant_in_run": 1},
                "unknown": 0,
            }
        },
    }
    assert [(row["measure"], row["value"]) for row in rows] == [("P@1", None), ("EM", 0.25)]
    value = json.loads(as_json(replace(table, matching="the rule")))
    assert (value["n_answered"], value["matching"]) == (2, "the rule")
    value = json.loads(as_json(replace(table, matching="the rule", questions=Questions("own", ["1"]))))
    assert value["n_answered"] == 0


def test_figures_of_topics_as_lines(small: Table, tmp_path: Path) -> None:
    write_per_topic(tmp_path / "q.tsv", small)
    lines = (tmp_path / "q.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["topic\tsystem\tmeasure\tvalue", "1\tone\tP@1\t1.0", "2\tone\tP@1\t0.0"]
    assert len(lines) == 1 + 2 * (3 + 4)
    rows = [("1", 0.5), ("2", float("nan")), ("é", float("-inf"))]
    write_rows(tmp_path / "r.tsv", ("topic", "value"), rows)
    assert (tmp_path / "r.tsv").read_text(encoding="utf-8") == "topic\tvalue\n1\t0.5\n2\tnan\né\t-inf\n"
    write_rows(tmp_path / "r.jsonl", ("topic", "value"), rows)
    records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text("utf-8").splitlines()]
    assert records == [
        {"topic": "1", "value": 0.5},
        {"topic": "2", "value": None},
        {"topic": "é", "value": None},
    ]
    assert (tmp_path / "r.jsonl").read_text("utf-8").endswith("}\n")
    with pytest.raises(ValueError, match="zip"):
        write_rows(tmp_path / "r.jsonl", ("topic", "value"), [("1",)])


def test_names_of_files_say_how_rows_are_written() -> None:
    check_rows_path(Path("a.tsv"))
    check_rows_path(Path("a.jsonl"), "--deltas")
    for option, before in (("", ""), ("--deltas", "--deltas ")):
        with pytest.raises(UsageError) as told:
            check_rows_path(Path("a.csv"), option)
        assert str(told.value) == f"{before}a.csv: must end in .tsv or .jsonl"
    with pytest.raises(UsageError, match=r"^a\.csv: must end in"):
        write_rows(Path("a.csv"), ("topic",), [])
