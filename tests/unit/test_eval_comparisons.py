"""Systems beside a baseline: which topics count, what is corrected, what is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.comparisons import compare, figure_intervals, find_result, with_statistics, write_deltas
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage
from seal_ir.eval.significance import Resampling, bootstrap_intervals, holm, randomisation_p
from seal_ir.eval.table_formats import as_json, as_markdown, as_text
from seal_ir.eval.tables import Result, Statistics, Table

COVERAGE = Coverage(4, 4, 4, 4, 4, 0)


def table_of(values: Mapping[str, Sequence[float]], measure: str = "RR") -> Table:
    """A table of one measure, from each system's values of topics 0, 1, ..."""
    (column,) = parse_measures([measure])
    results = []
    for system, series in values.items():
        by_topic = {str(i): value for i, value in enumerate(series)}
        figure = sum(series) if measure == "NumRet" else sum(series) / len(series)
        path = Path(f"runs/{system}.trec")
        results.append(Result(system, path, COVERAGE, {column.name: figure}, {column.name: by_topic}))
    topics = [str(i) for i in range(max(map(len, values.values())))]
    return Table(Questions("t", topics, None, {}), [column], results, None, None)


VALUES = {
    "base": [1.0, 0.0, 0.5, 0.25, 0.0, 0.2],
    "good": [1.0, 1.0, 0.5, 0.50, 1.0, 0.1],
    "same": [1.0, 0.0, 0.5, 0.25, 0.0, 0.2],
}


def test_differences_p_values_and_wins() -> None:
    table = table_of(VALUES)
    base, good, same = table.results
    first, second = compare(table, base, [good, same])
    p = randomisation_p(np.array([0, 1, 0, 0.25, 1, -0.1]))
    assert (first.system, first.baseline, first.measure, first.n) == ("good", "base", "RR", 6)
    assert first.delta == pytest.approx(2.15 / 6)
    assert (first.wins, first.ties, first.losses) == (3, 2, 1)
    assert first.p == pytest.approx(p)
    assert (second.delta, second.p, second.wins, second.ties, second.losses) == (0.0, 1.0, 0, 6, 0)
    assert [first.p_holm, second.p_holm] == holm([first.p, second.p])
    assert first.p_holm == pytest.approx(2 * p)
    assert first.interval.lo < first.delta < first.interval.hi
    assert tuple(second.interval) == (0.0, 0.0)


def test_only_topics_for_which_both_are_defined_are_compared() -> None:
    nan = float("nan")
    table = table_of({"base": [0.0, nan, 0.0, 1.0], "other": [1.0, 1.0, nan, 1.0, 1.0]})
    base, other = table.results
    (found,) = compare(table, base, [other])
    assert (found.n, found.delta, found.wins, found.ties) == (2, 0.5, 1, 1)
    assert figure_intervals(table) == [{}, {}]  # a mean that is no number has no interval
    lone = table_of({"base": [nan], "other": [1.0]})
    with pytest.raises(UsageError) as told:
        compare(lone, lone.results[0], lone.results[1:])
    assert str(told.value) == (
        "RR: other and base have no topic for which both are defined; leave the measure out"
    )


def test_figures_that_are_sums_have_intervals_of_sums() -> None:
    table = table_of({"base": [3.0, 3.0, 4.0], "more": [5.0, 5.0, 6.0]}, "NumRet")
    (found,) = compare(table, table.results[0], table.results[1:])
    assert (found.delta, tuple(found.interval)) == (6.0, (6.0, 6.0))
    lo, hi = figure_intervals(table)[0]["NumRet"]
    assert 9.0 <= lo <= 10.0 <= hi <= 12.0


def test_a_result_is_found_by_its_name_or_path() -> None:
    table = table_of(VALUES)
    assert find_result(table, "good") is find_result(table, "runs/good.trec") is table.results[1]
    with pytest.raises(UsageError, match="baseline 'bad': no such system.*base, good, same"):
        find_result(table, "bad")


@pytest.fixture
def many() -> Table:
    """Two systems on so many topics that p values are drawn, with a part of all topics and one of some."""
    draw = np.random.default_rng(3)
    base, other = draw.random(300), draw.random(300)
    whole, some = table_of({"base": base, "other": other}), table_of({"base": base[:50], "other": other[:50]})
    return replace(whole, parts=(whole, some))


def test_statistics_are_drawn_as_the_options_say(many: Table) -> None:
    options = Resampling(permutations=200, resamples=300, seed=4, level=0.5)
    base, other = many.results
    found = with_statistics(many, options, base, [other])
    assert found.statistics is not None
    (comparison,) = found.statistics.comparisons
    differences = np.array([other.values["RR"][qid] - base.values["RR"][qid] for qid in base.values["RR"]])
    assert comparison.p == randomisation_p(differences, options) != randomisation_p(differences)
    assert comparison.interval == pytest.approx(bootstrap_intervals(differences[:, None], options)[0])
    assert found.statistics.options == options
    assert found.statistics.intervals == figure_intervals(many, options) != figure_intervals(many)
    for part, before in zip(found.parts, many.parts, strict=True):  # intervals of parts, no comparisons
        assert part.statistics == Statistics(options, figure_intervals(before, options), ())
    alone = with_statistics(many, options).statistics
    assert alone == Statistics(options, figure_intervals(many, options), ())


def test_systems_of_other_topics_have_intervals_of_their_own() -> None:
    table = table_of({**VALUES, "less": [0.5, 0.25, 0.0, 0.75]})
    base, good, _, less = table.results
    found = compare(table, base, [good, less, good])
    assert [comparison.n for comparison in found] == [6, 4, 6]
    differences = [np.array(values) for values in (VALUES["good"], [*less.values["RR"].values()])]
    for comparison, values in zip(found, [*differences, differences[0]], strict=True):
        series = values - np.array(VALUES["base"][: len(values)])
        assert comparison.interval == pytest.approx(bootstrap_intervals(series[:, None])[0])


def compared(table: Table) -> Table:
    options = Resampling(seed=4)
    comparisons = compare(table, table.results[0], table.results[1:], options)
    return replace(table, statistics=Statistics(options, figure_intervals(table, options), comparisons))


def test_tables_show_comparisons() -> None:
    table = compared(table_of(VALUES))
    text = as_text(table).splitlines()
    head = next(line for line in text if line.startswith("measure"))
    assert head.split()[-4:] == ["p", "p", "(Holm)", "w/t/l"]
    base, good, same = text[text.index(head) + 1 : text.index(head) + 4]
    assert base.split()[:3] == ["RR", "base", "0.3250"]
    assert good.split()[1:3] + good.split()[5:6] == ["good", "0.6833", "+0.3583"]
    assert good.split()[-1] == "3/2/1"
    assert same.split()[-3:] == ["1.0000", "1.0000", "0/6/0"]
    assert text[-1] == (
        "# 95 % intervals: percentile bootstrap, 10,000 resamples; p: paired randomisation test,"
        " two-sided, exact or 10,000 permutations; Holm over the 2 compared; over topics, seed 4"
    )
    markdown = as_markdown(table).splitlines()
    assert "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |" in markdown
    assert markdown[-1] == f"- {text[-1][2:]}"


def test_json_has_intervals_and_comparisons() -> None:
    table = compared(table_of(VALUES))
    value = json.loads(as_json(table))
    assert value["statistics"] == {"permutations": 10_000, "resamples": 10_000, "level": 0.95, "seed": 4}
    lo, hi = value["rows"][1]["ci"]
    assert lo < value["rows"][1]["value"] < hi
    good = value["comparisons"][0]
    assert (good["system"], good["wins"], good["ties"], good["losses"]) == ("good", 3, 2, 1)
    assert good["delta"] == pytest.approx(2.15 / 6)
    assert len(good["interval"]) == 2
    assert "ci" not in json.loads(as_json(table_of(VALUES)))["rows"][0]


def test_differences_by_topic(tmp_path: Path) -> None:
    table = table_of(VALUES)
    base, good, _ = table.results
    write_deltas(tmp_path / "d.tsv", table, base, [good])
    write_deltas(tmp_path / "d.jsonl", table, base, [good])
    lines = (tmp_path / "d.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "topic\tsystem\tbaseline\tmeasure\tvalue\tbaseline_value\tdelta"
    assert lines[2] == "1\tgood\tbase\tRR\t1.0\t0.0\t1.0"
    records = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(records) == len(lines) - 1 == 6
    assert ["\t".join(map(str, record.values())) for record in records] == lines[1:]
    assert sum(record["delta"] for record in records) == pytest.approx(2.15)
    with pytest.raises(UsageError, match=r"d.txt: must end in .tsv or .jsonl"):
        write_deltas(tmp_path / "d.txt", table, base, [good])
