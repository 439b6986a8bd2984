"""Rows measured: figures of runs with their intervals, costs, and the published figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seal_ir.errors import InputError
from seal_ir.eval.answers import TOKENS
from seal_ir.eval.comparisons import find_result, with_statistics, write_deltas
from seal_ir.eval.evaluation import EvalOptions
from seal_ir.eval.measures import Column, need_answers, need_passages, need_qrels, parse_measures
from seal_ir.eval.questions import Questions, find_sources, load_questions
from seal_ir.eval.significance import Resampling
from seal_ir.eval.tables import Comparison, Interval, Result, Table
from seal_ir.eval.texts import searched_texts
from seal_ir.formats.io.files import atomic_writer, is_file, shown
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.runs.others import has_texts
from seal_ir.formats.topics.reading import read_topics
from seal_ir.reproduce.costs import LABELS, index_gb, search_cost
from seal_ir.reproduce.evaluating import evaluated
from seal_ir.reproduce.spec import Row, TableSpec, Topics

_PAGE_DELIMITER = "#"
_TO_BLANK = str.maketrans("\t\r\n", "   ")  # dialogues have line breaks, which end a topic in a TSV file


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell of a table.

    Attributes:
        system, topics, measure: names.
        value: as measured here; None where it was not.
        interval: of the value.
        n: topics that the value is over.
        published: as published, in the unit of the value; None where it was not.
        recorded: what was last measured, as the table file has it; None where it has nothing.
        comparison: with the baseline; None where there is none.
    """

    system: str
    topics: str
    measure: str
    value: float | None = None
    interval: Interval | None = None
    n: int | None = None
    published: float | None = None
    recorded: float | None = None
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """All figures of a table, and what those of each set of topics rest on.

    Attributes:
        figures: by set, row and measure, in the table's order; those that are neither measured nor published
            are left out.
        tables: of the sets on which runs were measured.
    """

    figures: Sequence[Figure]
    tables: Mapping[str, Table]


def write_topics(topics: Topics, places: Places) -> None:
    """Writes the topics of a set, or the sample of them, unless the file is there and says the same.

    Raises:
        InputError: the topics are not here, or the sample names one that is none of them.
    """
    queries = read_topics(resolve_topics(topics.source, places))
    if topics.sample is not None:
        try:
            ids = topics.sample.read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{topics.sample}: cannot be read ({error})") from error
        by_id = {query.id: query for query in queries}
        absent = [qid for qid in ids if qid not in by_id]
        if absent:
            raise InputError(f"{topics.sample}: topic {shown(absent[0])} is not one of {topics.source}")
        queries = [by_id[qid] for qid in dict.fromkeys(ids)]
    text = "".join(f"{query.id}\t{query.text.translate(_TO_BLANK)}\n" for query in queries)
    if not topics.file.is_file() or topics.file.read_text(encoding="utf-8") != text:
        with atomic_writer(topics.file) as file:
            file.write(text)


def check_questions(spec: TableSpec, topics: Topics, places: Places) -> None:
    """Reads what the set's runs will be measured against, so that faults are told before runs are made.

    Raises:
        InputError: a measure lacks its answers, judgements or passages, or a file cannot be read.
        UsageError: a measure is unknown.
    """
    columns = _columns(spec, topics)
    if columns:
        _questions(topics, columns, places)


def measure(
    spec: TableSpec, live: Sequence[Topics], places: Places, timings: Mapping[str, float], options: Resampling
) -> Measured:
    """Measures all runs that are there on the live sets.

    Args:
        spec: the table.
        live: sets of topics with runs; their topics have been written.
        places: where names are looked up.
        timings: seconds that steps took, by command.
        options: for intervals and comparisons.

    Raises:
        InputError: a run, the judgements or the answers cannot be read.
        UsageError: a measure is unknown, or lacks its judgements.
    """
    tables = {
        topics.name: table
        for topics in live
        if (table := _measured(spec, topics, places, options)) is not None
    }
    found: dict[tuple[str, str, str], Figure] = {}
    for topics in spec.topics:
        cells = _cells(tables[topics.name]) if topics.name in tables else {}
        for row in spec.rows:
            for name in topics.measures:
                figure = cells.get((row.system, name)) or Figure(row.system, topics.name, name)
                figure = replace(
                    figure,
                    published=row.published.get(topics.name, {}).get(name),
                    recorded=row.recorded.get(topics.name, {}).get(name),
                )
                if topics.mean_of:
                    figure = replace(figure, value=_mean(found, topics, row.system, name))
                elif name in LABELS:
                    figure = replace(figure, value=_cost(spec, row, topics, name, timings))
                if figure.value is not None or figure.published is not None:
                    found[topics.name, row.system, name] = figure
    return Measured(tuple(found.values()), tables)


def _measured(spec: TableSpec, topics: Topics, places: Places, options: Resampling) -> Table | None:
    """The set's runs that are there, measured under their systems' names; None where there are none."""
    columns = _columns(spec, topics)
    runs = {row.system: run for row in spec.rows if (run := row.runs.get(topics.name)) and is_file(run)}
    if not columns or not runs:
        return None
    questions = _questions(topics, columns, places)
    delimiter = _PAGE_DELIMITER if topics.pages else None
    looks = questions.answers is not None and not all(map(has_texts, runs.values()))
    texts = searched_texts(spec.index, places) if looks else None
    read = {row.system: path for row in spec.rows if (path := row.predictions.get(topics.name))}
    read = {system: path for system, path in read.items() if is_file(path)}
    # Where a table has readers, rows without one have no answers by intent.
    blank = runs.keys() if spec.readers else ()
    table = evaluated(runs, read, questions, columns, texts, EvalOptions(TOKENS, delimiter), blank)
    return None if table is None else _compared(table, spec, topics, options)


def _columns(spec: TableSpec, topics: Topics) -> list[Column]:
    names = [name for name in topics.measures if name not in LABELS]
    columns = parse_measures(names)
    for name in names:
        ours = [column.name for column in parse_measures([name])]
        if ours != [name]:
            raise InputError(f"table {spec.name}: measure {name} of {topics.name}: write {' '.join(ours)}")
    if need_passages(columns) and not spec.index:
        raise InputError(f"table {spec.name}: 'index' is missing; AnswerAccuracy@k looks into its passages")
    return columns


def _questions(topics: Topics, columns: Sequence[Column], places: Places) -> Questions:
    """The topics that were written, with the answers and judgements that the measures need."""
    sources = find_sources(
        str(topics.file),
        topics.answers or topics.source if need_answers(columns) else None,
        topics.qrels or topics.source if need_qrels(columns) else None,
        places,
        need_answers=False,
    )
    delimiter = _PAGE_DELIMITER if topics.pages else None
    return replace(load_questions(sources, columns, delimiter), label=topics.name)


def _compared(table: Table, spec: TableSpec, topics: Topics, options: Resampling) -> Table:
    """The table with intervals, and with comparisons where its baseline has a run; writes `deltas.tsv`."""
    if not any(result.system == spec.baseline for result in table.results):
        return with_statistics(table, options)
    baseline = find_result(table, spec.baseline)
    others = _compare_to(table.results, baseline, spec.compare)
    write_deltas(topics.folder / "deltas.tsv", table, baseline, others)
    return with_statistics(table, options, baseline, others)


def _compare_to(results: Sequence[Result], baseline: Result, systems: Sequence[str]) -> list[Result]:
    others = [result for result in results if result is not baseline]
    return [result for result in others if result.system in systems] if systems else others


def _cells(table: Table) -> dict[tuple[str, str], Figure]:
    """The figures of a measured set by system and measure."""
    statistics = table.statistics
    intervals = statistics.intervals if statistics else [{} for _ in table.results]
    comparisons = {
        (found.system, found.measure): found for found in (statistics.comparisons if statistics else ())
    }
    return {
        (result.system, column.name): Figure(
            result.system,
            table.questions.label,
            column.name,
            value=result.figures[column.name],
            interval=of_result.get(column.name),
            n=len(result.values[column.name]),
            comparison=comparisons.get((result.system, column.name)),
        )
        for result, of_result in zip(table.results, intervals, strict=True)
        for column in table.columns
        if column.name in result.figures
    }


def _cost(spec: TableSpec, row: Row, topics: Topics, name: str, timings: Mapping[str, float]) -> float | None:
    if name == "IndexGB":
        return index_gb(row.size_of)
    if name == "BuildHours":
        built = [
            step
            for step in spec.steps
            if any(place in (made, *made.parents) for made in step.makes for place in row.size_of)
        ]
        took = [timings[str(step)] for step in built if str(step) in timings]
        return sum(took) / 3600 if took and len(took) == len(built) else None
    return search_cost(name, row.searched(topics.name))


def _mean(
    found: Mapping[tuple[str, str, str], Figure], topics: Topics, system: str, name: str
) -> float | None:
    """The mean of the system's figures on the sets; None if one of them was not measured."""
    figures = [found.get((other, system, name)) for other in topics.mean_of]
    values = [figure.value for figure in figures if figure is not None and figure.value is not None]
    return sum(values) / len(values) if len(values) == len(figures) else None
