"""Table files (eval/*.toml) read into what they mean; docs/eval.md describes them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from seal_ir.config import PRESETS
from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.registries import NAMES_ARE, REGISTERED_NAME
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.costs import LABELS, runs_of_costs
from seal_ir.reproduce.fields import Context, Fields, context_of
from seal_ir.reproduce.frontier import read_frontiers
from seal_ir.reproduce.needs import DATA
from seal_ir.reproduce.outputs import read_outputs
from seal_ir.reproduce.reader_words import read_readers
from seal_ir.reproduce.spec import NO_DATA, Page, Row, Step, TableSpec, Topics
from seal_ir.structured import load_toml


def read_spec(path: Path, results: Path, places: Places) -> TableSpec:
    """The table of a TOML file; nothing is written, and no topics are read.

    Raises:
        InputError: the file cannot be read, or is no table.
    """
    try:
        values = load_toml(path)
    except (OSError, ValueError) as error:  # of TOML, of UTF-8, or of a number that is too long
        raise InputError(f"{path}: not a table: {error}") from error
    table = Fields(str(path), values).only(
        *("title", "note", "source", "index", "measures", "baseline", "compare", "tolerance", "keys"),
        *("need", "topics", "step", "row", "page", "frontier", "reader"),
    )
    folder, n_keys = results / path.stem, _n_keys(table)
    context = context_of(table, path, folder, places, has_keys=n_keys > 0)
    topics = _all_topics(table, context)
    steps = tuple(step for fields in table.sections("step") for step in _steps_of(fields, context, topics))
    made = frozenset(path for step in steps for path in step.makes)
    tolerance = table.number("tolerance", 0.0)
    rows = tuple(_row_of(fields, context, topics, made, tolerance) for fields in table.sections("row"))
    spec = TableSpec(
        name=path.stem,
        title=table.text("title"),
        note=table.text("note", ""),
        source=table.text("source", ""),
        folder=folder,
        index=context.filled(table, table.text("index", "")),
        baseline=table.text("baseline", ""),
        compare=table.texts("compare"),
        topics=topics,
        steps=steps,
        rows=rows,
        n_keys=n_keys,
        pages=tuple(_page(fields, path.parent, rows, topics) for fields in table.sections("page")),
        frontiers=read_frontiers(table, rows, topics),
        readers=read_readers(table, context, rows, topics),
    )
    _check(table, spec)
    _check_keys(table, spec)
    return spec


def _n_keys(table: Fields) -> int:
    n = table.number("keys", 0.0)
    if "keys" in table.values and (n < 1 or n != int(n)):
        raise InputError(f"{table.where}: keys is {n:g}; how many of a document are shown, at least 1?")
    return int(n)


def _check_keys(table: Fields, spec: TableSpec) -> None:
    """Refuses a table of keys that has figures too, and presets where they are not asked for, or unknown."""
    if spec.n_keys and (spec.baseline or any(topics.measures for topics in spec.topics) or not spec.index):
        raise InputError(f"{table.where}: a table of keys has an index, and neither measures nor baseline")
    if spec.n_keys and spec.pages:
        raise InputError(f"{table.where}: [[page]] is for figures; put a table of keys into a page by --into")
    for number, row in enumerate(spec.rows, start=1):
        if spec.n_keys and row.runs and row.preset not in PRESETS:
            known = ", ".join(PRESETS)
            raise InputError(f"{table.where}: [[row]] {number}: preset is {shown(row.preset)}; use {known}")
        if row.preset and not spec.n_keys:
            raise InputError(
                f"{table.where}: [[row]] {number}: preset is for tables of keys; name it in a step"
            )


def _check(table: Fields, spec: TableSpec) -> None:
    """Refuses a table without rows, rows that come twice, and names that nothing has."""
    systems = [row.system for row in spec.rows]
    if not systems:
        raise InputError(f"{table.where}: 'row' is missing; write [[row]] with system and run")
    twice = [system for system in systems if systems.count(system) > 1]
    if twice:
        raise InputError(f"{table.where}: two rows are called {shown(twice[0])}; names differ")
    for system in (spec.baseline, *spec.compare):
        if system and system not in systems:
            raise InputError(f"{table.where}: {shown(system)} is compared, but no row is called so")
    if any(page.plots for page in spec.pages) and not spec.frontiers:
        raise InputError(f"{table.where}: [[page]] has plots, which show frontiers; write a [[frontier]]")
    if spec.compare and not spec.baseline:
        raise InputError(f"{table.where}: 'baseline' is missing; compare names what is compared with it")


def _all_topics(table: Fields, context: Context) -> tuple[Topics, ...]:
    """The sets of topics; without any, one that is called as the table and has its measures.

    Raises:
        InputError: a section has a fault, or two have the same name.
    """
    sections = table.sections("topics")
    if not sections:  # a table of sizes and the like
        if not table.texts("measures"):
            raise InputError(f"{table.where}: 'topics' is missing; write [[topics]] with name and measures")
        sections = [Fields(table.where, {"name": context.path.stem, "topics": "", **_measures(table)})]
    elif "measures" in table.values:
        raise InputError(f"{table.where}: measures belong to [[topics]]; move them there")
    found: list[Topics] = []
    for fields in sections:
        topics = _topics(fields, context, {known.name: known for known in found})
        if topics.name in {known.name for known in found}:
            raise InputError(f"{fields.where}: {shown(topics.name)} comes twice; names differ")
        found.append(topics)
    return tuple(found)


def _measures(table: Fields) -> dict[str, list[str]]:
    return {"measures": list(table.texts("measures"))}


def _topics(fields: Fields, context: Context, before: Mapping[str, Topics]) -> Topics:
    fields.only(
        *("name", "label", "topics", "sample", "within", "mean_of", "answers", "qrels"),
        *("pages", "measures", "needs"),
    )
    name, within, mean_of = fields.text("name"), fields.text("within", ""), fields.texts("mean_of")
    if not REGISTERED_NAME.fullmatch(name):
        raise InputError(f"{fields.where}: name is {shown(name)}; use {NAMES_ARE}")
    for other in (within, *mean_of):
        if other and other not in before:
            raise InputError(f"{fields.where}: {shown(other)} is no set of topics above this one")
    measures = fields.texts("measures")
    if context.has_keys and not measures and not mean_of and not within:
        pass  # its runs are keys, which are shown and not measured
    elif not measures or len(set(measures)) < len(measures):
        fault = "holds one twice" if measures else "is missing"
        raise InputError(f"{fields.where}: 'measures' {fault}; name each once, such as AnswerAccuracy@20")
    source = before[within].source if within else "" if mean_of else fields.text("topics", name)
    sample, folder = fields.text("sample", ""), context.folder / name
    return Topics(
        name=name,
        label=fields.text("label", name),
        source=context.filled(fields, source),
        sample=context.path.parent / context.filled(fields, sample) if sample else None,
        within=within,
        mean_of=mean_of,
        answers=context.filled(fields, fields.text("answers", "")),
        qrels=context.filled(fields, fields.text("qrels", "")),
        pages=fields.flag("pages"),
        measures=measures,
        needs=context.needed(fields),
        folder=folder,
        runs=before[within].runs if within else folder,
    )


def _steps_of(fields: Fields, context: Context, topics: Sequence[Topics]) -> list[Step]:
    """The step; one that names {topics} or {out} is done for each set of topics, or for those it lists.

    Raises:
        InputError: the section has a fault.
    """
    fields.only("command", "makes", "needs", "for")
    command, wanted = fields.text("command"), fields.texts("for")
    own = {known.name: known for known in topics if known.source and not known.within}
    unknown = [name for name in wanted if name not in own]
    if unknown:
        raise InputError(f"{fields.where}: for: {shown(unknown[0])} is no set of topics with runs of its own")
    if not fields.texts("makes"):
        raise InputError(f"{fields.where}: 'makes' is missing; name the files that the command writes")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{fields.where}: command: {error}") from error
    each = any("{topics}" in text or "{out}" in text for text in (*words, *fields.texts("makes")))
    targets: list[Topics | None] = [own[name] for name in wanted or own] if each else [None]
    return [_step(fields, context, words, target) for target in targets]


def _step(fields: Fields, context: Context, words: Sequence[str], target: Topics | None) -> Step:
    filled = [context.filled(fields, word, target) for word in words]
    needs = (*context.needed(fields), *(() if target is None else target.needs))
    if any(NO_DATA in word for word in filled):
        needs = (*needs, DATA)
    return Step(
        command=(sys.executable, *filled),
        makes=context.paths(fields, "makes", target),
        needs=tuple(dict.fromkeys(needs)),
        topics="" if target is None else target.name,
    )


def _row_of(
    fields: Fields, context: Context, topics: Sequence[Topics], made: frozenset[Path], tolerance: float
) -> Row:
    """The row.

    Args:
        fields: its section.
        context: see `context_of`.
        topics: the sets of the table.
        made: all files that steps make.
        tolerance: the table's, which its own replaces.

    Raises:
        InputError: the section has a fault, or no step makes its run.
    """
    fields.only(
        *("system", "run", "published", "measured", "tolerance", "source", "missing", "size_of", "preset"),
        *("costs", "import", "get"),
    )
    system, run, missing = fields.text("system"), fields.text("run", ""), fields.text("missing", "")
    size_of = context.paths(fields, "size_of")
    runs = {known.name: known.runs / run for known in topics if run and known.source}
    runs = {name: path for name, path in runs.items() if path in made}
    if run and not runs:
        raise InputError(f"{fields.where}: no step makes {shown(run)}, the run of {shown(system)}")
    if run and missing:
        raise InputError(
            f"{fields.where}: has both run and missing; what a run lacks, its steps say in needs"
        )
    outputs, output = read_outputs(fields, context, topics)
    if not run and not missing and not size_of and not outputs:
        raise InputError(f"{fields.where}: 'run' is missing; without one, say in 'missing' what it lacks")
    return Row(
        system=system,
        runs=runs,
        published=_figures(fields, "published", topics),
        source=fields.text("source", ""),
        missing=missing,
        size_of=size_of,
        recorded=_figures(fields, "measured", topics),
        tolerance=fields.number("tolerance", tolerance),
        preset=fields.text("preset", ""),
        costs=runs_of_costs(fields, topics, runs, made),
        outputs=outputs,
        output=output,
    )


def _page(fields: Fields, folder: Path, rows: Sequence[Row], topics: Sequence[Topics]) -> Page:
    """The page; what a short form does not name, it has all of."""
    fields.only("file", "note", "systems", "topics", "measures", "plots")
    file, plots = Path(os.path.normpath(folder / fields.text("file"))), fields.flag("plots")
    known = {
        "systems": [row.system for row in rows],
        "topics": [known.name for known in topics],
        "measures": list(dict.fromkeys(name for known in topics for name in known.measures)),
    }
    parts = {key: fields.texts(key) for key in known}
    for key, names in parts.items():
        for name in names:
            if name not in known[key]:
                raise InputError(f"{fields.where}: {shown(name)} is none of the table's {key}")
    if not any(parts.values()):
        if "note" in fields.values:
            raise InputError(f"{fields.where}: note is for a short form; the whole table has its own")
        return Page(file, plots=plots)
    chosen = {key: names or tuple(known[key]) for key, names in parts.items()}
    return Page(file, fields.text("note", ""), **chosen, plots=plots)


def _figures(fields: Fields, key: str, topics: Sequence[Topics]) -> dict[str, dict[str, float]]:
    """Figures by set and measure: shares are written in percent, costs in the unit of their measure."""
    given = fields.section(key)
    if not given.values:
        return {}
    if len(topics) == 1 and not any(isinstance(value, dict) for value in given.values.values()):
        by_set = {topics[0].name: given}
    else:
        by_set = {name: given.section(name) for name in given.values}
    measures = {known.name: known.measures for known in topics}
    found: dict[str, dict[str, float]] = {}
    for name, figures in by_set.items():
        if name not in measures:
            raise InputError(f"{given.where}: {shown(name)} is no set of topics of this table")
        figures.only(*measures[name])
        found[name] = {
            measure: figures.number(measure) / (1 if measure in LABELS else 100) for measure in figures.values
        }
    return found
