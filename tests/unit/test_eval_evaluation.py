"""Runs measured on questions: orders, denominators, levels, tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.eval.comparisons import compare
from seal_ir.eval.evaluation import EvalOptions, evaluate
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions, Sources, find_sources, load_questions
from seal_ir.eval.rankings import read_rankings, system_names
from seal_ir.eval.table_formats import as_json, as_markdown, as_text
from seal_ir.eval.tables import Table
from seal_ir.eval.texts import Texts, collection_texts, index_texts, searched_directory
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.runs.pages import fold_qrels
from tests.helpers import tiny

Grades = Mapping[str, Mapping[str, int]]
Entries = Mapping[str, Sequence[tuple[str, float]]]
JUDGED, ANSWERED = parse_measures(["Success@1"]), parse_measures(["AnswerAccuracy@1"])


def write_run(path: Path, entries: Entries) -> Path:
    lines = [f"{qid} Q0 {docid} 0 {score} t\n" for qid, scored in entries.items() for docid, score in scored]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def texts_of(bodies: Mapping[str, str]) -> Texts:
    return lambda docids: {docid: bodies[docid] for docid in docids if docid in bodies}


def judged(path: Path, qrels: Grades, names: Sequence[str], delimiter: str | None = None) -> Table:
    questions = Questions("t", list(qrels), None, fold_qrels(qrels, delimiter) if delimiter else qrels)
    return evaluate([path], questions, parse_measures(names), None, EvalOptions(delimiter=delimiter))


def figures(table: Table) -> dict[str, float]:
    return {row["measure"]: round(row["value"], 4) for row in table.rows()}


def test_b2_ties_are_ordered_as_in_trec_eval(tmp_path: Path) -> None:
    qrels = {"1": {"a": 0, "b": 1, "c": 0}}
    names = ["nDCG", "P@1"]
    first = write_run(tmp_path / "first", {"1": [("b", 1.0), ("a", 1.0)]})
    second = write_run(tmp_path / "second", {"1": [("b", 1.0), ("c", 1.0)]})
    assert figures(judged(first, qrels, names)) == {"nDCG": 1.0, "P@1": 1.0}
    assert figures(judged(second, qrels, names)) == {"nDCG": 0.6309, "P@1": 0.0}


def test_b3_figures_do_not_depend_on_the_order_of_lines(tmp_path: Path) -> None:
    entries = [(f"d{i:02}", 1.0) for i in range(50)]
    qrels = {"1": {"d07": 1, "d33": 1}}
    names = ["AP", "RR", "RR@50", "P@10"]
    one, other = (
        judged(write_run(tmp_path / "run", {"1": order}), qrels, names) for order in (entries, entries[::-1])
    )
    assert as_text(one) == as_text(other)
    assert figures(one)["RR"] == round(1 / 17, 4)


def test_b4_a_document_named_like_its_topic_counts(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"0": [(str(i), 10.0 - i) for i in range(10)]})
    assert figures(judged(run, {"0": {str(i): 1 for i in range(10)}}, ["R@10"])) == {"R@10": 1.0}


def test_b7_pages_are_folded_before_the_cut(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("12-1", 3.0), ("12-5", 2.0), ("34-2", 1.0)]})
    pages = judged(run, {"1": {"12": 1, "34": 1}}, ["Rprec"], "-")
    assert figures(pages) == {"Rprec": 1.0}
    assert "page level, ids cut at '-'" in as_text(pages)
    assert json.loads(as_json(pages))["level"] == "page"
    passages = judged(run, {"1": {"12-5": 1, "34-1": 2}}, ["Rprec"], "-")
    assert figures(passages) == {"Rprec": 1.0}  # judgements of passages fold as well
    assert fold_qrels({"1": {"12-1": 0, "12-5": 2, "12-7": 1, "-9": 1}}, "-") == {"1": {"12": 2, "-9": 1}}


def test_b8_cuts_beyond_the_collection(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 3.0), ("b", 2.0), ("c", 1.0)]})
    questions = Questions("t", ["1"], {"1": ["three"]}, {"1": {"c": 1}})
    columns = parse_measures(["AnswerAccuracy@100", "Success@1000", "P@1000"])
    table = evaluate([run], questions, columns, texts_of({"a": "one", "b": "two", "c": "three"}))
    assert figures(table) == {"AnswerAccuracy@100": 1, "Success@1000": 1, "P@1000": 0.001}


def test_b9_the_same_run_twice_in_one_command(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 1.0)]})
    questions = Questions("t", ["1", "2"], {"1": ["x"]}, {"1": {"a": 1}, "2": {"b": 1}})
    columns = parse_measures(["AnswerAccuracy@1", "Success@1", "nDCG@10"])
    table = evaluate([run, run], questions, columns, texts_of({"a": "x"}))
    assert table.results[0].figures == table.results[1].figures
    assert set(table.results[0].figures.values()) == {0.5}


def test_b10_a_document_twice_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 2.0), ("a", 1.0)]})
    with pytest.raises(InputError, match=r"run:2: document 'a' comes twice for topic '1'"):
        judged(run, {"1": {"a": 1}}, ["P@5"])


def test_b11_the_rank_column_is_not_believed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("x", 1.0), ("a", 2.0)]})  # rank 0 on every line
    assert read_rankings(run) == {"1": ["a", "x"]}
    assert figures(judged(run, {"1": {"a": 1}}, ["Success@1"])) == {"Success@1": 1}


def test_b14_several_cuts_in_one_pass_with_four_decimals(tmp_path: Path) -> None:
    entries = {str(i): [("x", 2.0), ("a", 1.0)] for i in range(3)}
    run = write_run(tmp_path / "run", entries)
    questions = Questions("t", list("0123456"), {"0": ["yes"], "1": ["yes"], "2": ["no"]})
    table = evaluate(
        [run],
        questions,
        parse_measures([f"AnswerAccuracy@{k}" for k in (1, 5, 20, 100)]),
        texts_of({"a": "yes", "x": ""}),
    )
    assert as_text(table).splitlines()[:2] == [
        "system  accuracy@1  accuracy@5  accuracy@20  accuracy@100",
        "run         0.0000      0.2857       0.2857        0.2857",
    ]
    assert {row["n"] for row in table.rows()} == {7}
    assert json.loads(as_json(table))["rows"][1] == {
        "system": "run",
        "topics": "t",
        "measure": "AnswerAccuracy@5",
        "value": 2 / 7,
        "n": 7,
    }


def test_b13_the_table_says_what_it_rests_on(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a|b.trec", {"1": [("a", 1.0)]})
    questions = Questions("nq", ["1", "2"], {"1": ["x"]}, {"1": {"a": 1}})
    table = evaluate([run], questions, parse_measures(["AnswerAccuracy@1", "Rprec"]), texts_of({"a": "x"}))
    for text in (as_text(table), as_markdown(table)):
        assert "topics: nq, 2 questions" in text
        assert "accuracy@k: over all 2 topics (1 have answers); answers in bodies by DPR tokens (NFD" in text
        assert "Rprec: over all 1 judged topics; passage level" in text
        assert "seal-ir " in text
        assert "ir-measures " in text
    assert as_markdown(table).splitlines()[:3] == [
        "| system | accuracy@1 | Rprec |",
        "| --- | ---: | ---: |",
        "| a\\|b | 0.5000 | 1.0000 |",
    ]
    value = json.loads(as_json(table))
    assert set(value["versions"]) == {"seal-ir", "ir-measures"}
    assert (value["topics"], value["n_topics"], value["n_answered"]) == ("nq", 2, 1)
    assert value["systems"]["a|b"]["in_run"] == 1


def test_b16_the_whole_body_is_searched_and_never_the_title(tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    records = [
        {"id": "a", "title": "Title", "contents": "Title\nline one\nline two has ANSWER"},
        {"id": "b", "contents": "no newline here, answer"},
        {"id": "c", "title": "answer", "contents": "answer\nnothing"},
        {"id": "d", "contents": '"answer"\nnothing'},
    ]
    lines = [json.dumps(record) for record in records] + ["malformed: an index was built without it"]
    corpus.write_text("\n".join(lines), encoding="utf-8")
    run = write_run(tmp_path / "run", {docid: [(docid, 1.0)] for docid in "abcd"})
    questions = Questions("t", list("abcd"), {qid: ["answer"] for qid in "abcd"})
    columns = parse_measures(["AnswerAccuracy@1"])
    table = evaluate([run], questions, columns, collection_texts("JsonCollection", corpus))
    found = table.results[0].values["AnswerAccuracy@1"]
    assert found == {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}


def test_b17_negative_scores(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("x", -12.5), ("a", -0.3)]})
    assert read_rankings(run) == {"1": ["a", "x"]}
    assert figures(judged(run, {"1": {"a": 1}}, ["Success@1", "RR"])) == {"Success@1": 1, "RR": 1}


def test_texts_from_an_index(tiny_index: Path) -> None:
    texts = index_texts(tiny_index)
    found = texts(["d3#0", "nowhere", "d6", "d1"])
    assert found == {"d3#0": tiny.SENTENCES[2], "d6": tiny.LITERAL, "d1": tiny.SENTENCES[0]}
    assert texts([]) == {}


def test_index_by_directory_or_name(tiny_index: Path, tmp_path: Path) -> None:
    places = Places(None, tmp_path, tmp_path / "cache")
    (tmp_path / "cache" / "indexes").mkdir(parents=True)
    (tmp_path / "cache" / "indexes" / "tiny").symlink_to(tiny_index)
    assert searched_directory(str(tiny_index), places) == tiny_index
    assert searched_directory("tiny", places) == tmp_path / "cache" / "indexes" / "tiny"
    with pytest.raises(IndexDirError, match="other"):
        index_texts(searched_directory("other", places))


def test_a_passage_that_the_source_lacks_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 3.0), ("zz", 2.0), ("yy", 1.0)]})
    columns = parse_measures(["AnswerAccuracy@2"])
    questions = Questions("t", ["1"], {"1": ["x"]})
    with pytest.raises(InputError, match=r"1 of 2 passages in the runs, such as 'zz', are not in"):
        evaluate([run], questions, columns, texts_of({"a": "", "yy": ""}))


def test_runs_that_share_no_topic(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 1.0)]})
    with pytest.raises(
        InputError, match=r"run: 0 of 2 judged topics in run \(they are like '1.0', the run's"
    ):
        judged(run, {"1.0": {"a": 1}, "2.0": {"a": 1}}, ["P@1"])
    with pytest.raises(InputError, match="0 of 1 topics in run"):
        evaluate(
            [run], Questions("t", ["x"], {"x": ["y"]}), parse_measures(["AnswerAccuracy@1"]), texts_of({})
        )


@pytest.mark.parametrize("text", ["", "\n \n", '{"id": "1", "input": "q", "output": [{"provenance": []}]}\n'])
def test_an_empty_run_is_a_row_of_zeros_with_a_warning(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    good, empty = write_run(tmp_path / "good", {"1": [("a", 1.0)]}), tmp_path / "empty"
    empty.write_text(text, encoding="utf-8")
    questions = Questions("t", ["1", "2"], {"1": ["x"]}, {"1": {"a": 1}, "2": {"b": 1}})
    names = ["AnswerAccuracy@1", "Success@1", "RR", "RR@10", "nDCG@10", "AP", "P@1", "Judged@10", "NumRet"]
    table = evaluate([good, empty], questions, parse_measures(names), texts_of({"a": "x"}))
    assert set(table.results[1].figures.values()) == {0}
    assert table.results[0].figures["Success@1"] == 0.5
    assert all(len(values) == 2 for values in table.results[1].values.values())
    told = [message for message in caplog.messages if message.startswith(str(empty))]
    assert told == [f"{empty}: the run is empty; every topic counts as one without results"]
    (comparison, *_) = compare(table, *table.results[:1], table.results[1:])
    assert (comparison.n, comparison.losses) == (2, 1)


@pytest.mark.parametrize("name", ["P@3", "R(rel=1)@3", "nDCG@3", "Success@3", "RR@3"])
def test_measures_that_look_deeper_than_a_run_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 2.0), ("b", 1.0)], "2": [("a", 1.0)]})
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    table = judged(run, qrels, [name.replace("3", "2"), name, "AP", "IPrec@0.1"])
    assert caplog.messages == [
        f"{run}: no topic has more than 2 results; {table.columns[1].name} look deeper,"
        " where all counts as wrong"
    ]


def test_topics_on_which_no_run_can_be_right_are_told(
    tmp_path: Path, places: Places, caplog: pytest.LogCaptureFixture
) -> None:
    qrels = tmp_path / "q"
    qrels.write_text("1 0 a 0\n1 0 b -1\n2 0 a 1\n3 0 a 0\n", encoding="utf-8")
    load_questions(Sources("t", None, None, qrels), JUDGED)
    assert caplog.messages == [
        f"{qrels}: 2 of 3 judged topics have no relevant document (grade 1 or more); all runs get 0:"
        " topics 1, 3"
    ]


@pytest.mark.parametrize("score", ["nan", "inf", "-Infinity", "1e999"])
def test_scores_that_are_no_numbers_never_reach_a_table(tmp_path: Path, score: str) -> None:
    run = tmp_path / "run"
    run.write_text(f"1 Q0 a 1 2 t\n1 Q0 b 2 {score} t\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"run:2: score is .*; it must be a finite number"):
        judged(run, {"1": {"a": 1}}, ["P@1"])


@pytest.mark.parametrize("qid", ["\u200b1", "\ufeff1", "01", "1.0", "A1"])
def test_a19_ids_that_only_look_equal_are_an_error_that_shows_both(tmp_path: Path, qid: str) -> None:
    run = write_run(tmp_path / "run", {qid: [("a", 1.0)]})
    if qid.startswith("\ufeff"):  # a mark at the beginning of a file is none of its text
        assert figures(judged(run, {"1": {"a": 1}}, ["P@1"])) == {"P@1": 1}
        return
    with pytest.raises(InputError) as error:
        judged(run, {"1": {"a": 1}, "a1": {"a": 1}}, ["P@1"])
    assert f"they are like '1', the run's like {qid!r}" in str(error.value)


def test_coverage_is_counted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [("a", 1.0)], "2": [("b", 1.0)], "9": [("a", 1.0)]})
    questions = Questions("t", ["1", "2", "3"], None, {"1": {"a": 1}, "3": {"b": 1}})
    coverage = evaluate([run], questions, parse_measures(["P@1"])).results[0].coverage
    assert str(coverage) == (
        "3 topics, 2 in run, 1 missing; 2 judged, 1 in run, 1 missing; missing counts as 0;"
        " 1 run topics unknown"
    )
    assert coverage.relevant_in_run == 1


@pytest.mark.parametrize(
    ("names", "questions", "options", "message"),
    [
        ([], Questions("t", ["1"]), EvalOptions(), "^no measures; name some, such as Success@1 or AnswerAcc"),
        (["P@1"], Questions("t", ["1"]), EvalOptions(), "P@1 needs judgements"),
        (["AnswerAccuracy@1"], Questions("t", ["1"]), EvalOptions(), "needs answers"),
        (["AnswerAccuracy@1"], Questions("t", ["1"], {"1": ["x"]}), EvalOptions(), "needs the passages"),
        (
            ["AnswerAccuracy@1"],
            Questions("t", ["1"], {"1": ["x"]}),
            EvalOptions(delimiter="#"),
            "max-passage",
        ),
    ],
)
def test_measures_that_lack_something(
    names: list[str], questions: Questions, options: EvalOptions, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate([], questions, parse_measures(names), None, options)


def test_system_names() -> None:
    assert system_names([Path("x/demo.lm.trec"), Path("b.trec.gz"), Path("c.txt"), Path(".trec")]) == [
        "demo.lm",
        "b",
        "c",
        ".trec",
    ]
    assert system_names([Path("x/a.trec"), Path("y/a.trec")]) == ["x/a.trec", "y/a.trec"]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    folder = tmp_path / "collections" / "own"
    folder.mkdir(parents=True)
    (folder / "topics.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n", encoding="utf-8")
    (folder / "answers.jsonl").write_text(
        '{"qid": "1", "answers": ["x"]}\n{"qid": "2", "answers": []}\n{"qid": "8", "answers": ["y"]}\n',
        encoding="utf-8",
    )
    (folder / "qrels.trec").write_text("3 0 a#1 1\n8 0 a#2 1\n", encoding="utf-8")
    return Places(None, tmp_path / "collections", tmp_path / "cache")


def test_answers_and_judgements_are_found_by_the_topics_name(places: Places) -> None:
    folder = places.collections / "own"
    sources = find_sources("own", None, None, places, need_answers=True)
    assert sources == Sources("own", folder / "topics.tsv", folder / "answers.jsonl", folder / "qrels.trec")
    assert find_sources("own", None, None, places, need_answers=False).answers is None
    questions = load_questions(sources, [*ANSWERED, *JUDGED], "#")
    assert questions == Questions("own", ["1", "2", "3"], {"1": ["x"]}, {"3": {"a": 1}})
    path = str(folder / "topics.tsv")
    unnamed = find_sources(path, None, None, places, need_answers=True)
    assert unnamed == Sources("topics.tsv", folder / "topics.tsv", None, None)


def test_topics_in_the_nq_format_bring_their_answers(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "nq.txt"
    path.write_text("who\t['x']\nwhat\t['y']\n", encoding="utf-8")
    sources = find_sources(str(path), None, None, places, need_answers=True)
    questions = load_questions(sources, ANSWERED)
    assert questions == Questions("nq.txt", ["0", "1"], {"0": ["x"], "1": ["y"]})


def test_without_topics_the_answers_or_judgements_name_them(places: Places) -> None:
    both = find_sources(None, "own", "own", places, need_answers=False)
    questions = load_questions(both, [*ANSWERED, *JUDGED])
    assert questions.topics == ["1", "2", "8"]
    assert list(questions.qrels or ()) == ["3", "8"]
    only = find_sources(None, None, "own", places, need_answers=False)
    assert load_questions(only, JUDGED).topics == ["3", "8"]


def test_questions_that_cannot_be(places: Places, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="answers 'nq-dev-none': no such file, and none belong"):
        find_sources(None, "nq-dev-none", None, places, need_answers=False)
    other = tmp_path / "other.trec"
    other.write_text("1.0 0 a 1\n", encoding="utf-8")
    sources = find_sources("own", None, str(other), places, need_answers=False)
    with pytest.raises(
        InputError, match=r"other.trec: 0 of 3 topics have judgements here \(.*'1', .*'1.0'\)"
    ):
        load_questions(sources, JUDGED)
    other.write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="other.trec: is blank"):
        load_questions(sources, JUDGED)
    blank = tmp_path / "blank.jsonl"
    blank.write_text('{"qid": "1", "answers": [" "]}\n', encoding="utf-8")
    sources = find_sources("own", str(blank), None, places, need_answers=True)
    with pytest.raises(InputError, match="no topic has an answer to look for"):
        load_questions(sources, ANSWERED)
