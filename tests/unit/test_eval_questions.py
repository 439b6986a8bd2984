"""What runs are measured against: which files a name brings, what is taken of them, what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.eval.answers import REGEX
from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions, Sources, find_sources, load_questions
from seal_ir.formats.io.resolve import Places

JUDGED, ANSWERED, WRITTEN = (parse_measures([name]) for name in ("P@1", "AnswerAccuracy@1", "EM"))
SETS = [*JUDGED, *parse_measures(["KiltRprec"])]


def written(path: Path, *records: object) -> Path:
    """A file of lines, or of JSON lines."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def datapoint(qid: str, answer: str, *sets: str) -> dict[str, object]:
    outputs: list[dict[str, object]] = [
        {"provenance": [{"wikipedia_id": page} for page in pages.split()]} for pages in sets
    ]
    return {"id": qid, "input": f"asks {qid}", "output": [*outputs, {"answer": answer}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four topics; judgements, answers and KILT's datapoints of some, and of an 8 besides."""
    own = tmp_path / "collections" / "own"
    own.mkdir(parents=True)
    written(own / "topics.tsv", *(f"{i}\task {i}" for i in range(1, 5)))
    answers = {"1": ["x"], "2": [" "], "3": ["y", "", "z"], "8": ["y"]}
    written(own / "answers.jsonl", *({"qid": qid, "answers": texts} for qid, texts in answers.items()))
    written(own / "qrels.trec", "3 0 a#1 1", "1 0 a#1 0", "3 0 a#2 2", "3 0 a#2 2", "8 0 a#2 1", "2 0 b 1")
    kilt = [datapoint("1", "x", "p#1 q#2", "r"), datapoint("3", "y", "p#3 p#4"), datapoint("8", "y", "p")]
    written(tmp_path / "gold.jsonl", *kilt)
    return tmp_path


@pytest.fixture
def places(folder: Path) -> Places:
    return Places(None, folder / "collections", folder / "cache")


def sources(folder: Path, *kinds: str) -> Sources:
    own = folder / "collections" / "own"
    paths = {"topics": own / "topics.tsv", "answers": own / "answers.jsonl", "qrels": own / "qrels.trec"}
    paths["gold"] = folder / "gold.jsonl"
    qrels = paths["gold"] if "gold" in kinds else paths["qrels"] if "qrels" in kinds else None
    topics, answers = (paths[kind] if kind in kinds else None for kind in ("topics", "answers"))
    return Sources("own", topics, answers, qrels)


def test_files_are_found_by_name_or_path(
    folder: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = folder / "collections" / "own"
    topics, answers, qrels = own / "topics.tsv", own / "answers.jsonl", own / "qrels.trec"
    found = find_sources("own", None, None, places, need_answers=True)
    assert found == Sources("own", topics, answers, qrels)
    assert find_sources("own", None, None, places, need_answers=False) == found._replace(answers=None)
    named = find_sources(None, "own", "own", places, need_answers=False)
    assert named == Sources("own", None, answers, qrels)
    by_path = find_sources(str(topics), str(answers), str(qrels), places, need_answers=False)
    assert by_path == Sources("topics.tsv", topics, answers, qrels)
    assert find_sources(None, str(answers), "own", places, need_answers=False).label == "answers.jsonl"
    assert find_sources(None, None, str(qrels), places, need_answers=False).label == "qrels.trec"
    # Nothing belongs to a file; what is given goes before what belongs to the name.
    assert find_sources(str(topics), None, None, places, need_answers=True) == Sources(
        "topics.tsv", topics, None, None
    )
    gold = folder / "gold.jsonl"
    both = find_sources("own", str(gold), str(gold), places, need_answers=True)
    assert both == Sources("own", topics, gold, gold)
    nq = written(folder / "nq.txt", "who\t['x']")
    assert find_sources(str(nq), None, None, places, need_answers=True).answers == nq
    assert find_sources(str(nq), None, None, places, need_answers=False).answers is None
    monkeypatch.setenv("HOME", str(folder))
    home = find_sources("~/nq.txt", None, None, places, need_answers=True)
    assert (home.label, home.answers) == ("nq.txt", home.topics)


@pytest.mark.parametrize("kind", ["answers", "qrels"])
def test_names_that_nothing_belongs_to(places: Places, kind: str) -> None:
    given = {"answers": None, "qrels": None, kind: "nothing"}
    with pytest.raises(InputError) as told:
        find_sources(None, given["answers"], given["qrels"], places, need_answers=False)
    assert str(told.value) == f"{kind} 'nothing': no such file, and none belong to topics of that name"


def test_judgements_of_the_topics(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = load_questions(sources(folder, "topics", "answers", "qrels"), JUDGED)
    qrels = {"3": {"a#1": 1, "a#2": 2}, "1": {"a#1": 0}, "2": {"b": 1}}
    assert found == Questions("own", ["1", "2", "3", "4"], None, qrels)
    assert found.asked == {"1": "ask 1", "2": "ask 2", "3": "ask 3", "4": "ask 4"}
    path = folder / "collections" / "own" / "qrels.trec"
    assert found.findings == (
        Finding(
            "judgements",
            f"{path}: 1 lines repeat a judgement, the first of them line 4; each judgement counts once",
        ),
        Finding(
            "no-relevant",
            f"{path}: 1 of 3 judged topics have no relevant document (grade 1 or more); all runs get 0:"
            " topics 1",
        ),
    )
    assert caplog.messages == [finding.text for finding in found.findings]
    pages = load_questions(sources(folder, "topics", "qrels"), JUDGED, "#")
    assert pages.qrels == {"3": {"a": 2}, "1": {"a": 0}, "2": {"b": 1}}
    judged = load_questions(sources(folder, "qrels"), JUDGED)
    assert judged == Questions("own", ["3", "1", "8", "2"], None, {**qrels, "8": {"a#2": 1}}, are_all=False)
    assert [finding.kind for finding in judged.findings] == ["judgements", "no-relevant"]
    assert dict(judged.asked) == {}


def test_judgements_that_meet_the_topics_in_part_are_told(folder: Path) -> None:
    own = folder / "collections" / "own"
    written(own / "qrels.trec", "1 0 a 1", *(f"{i} 0 a 1" for i in range(11, 14)))
    (finding,) = load_questions(sources(folder, "topics", "qrels"), JUDGED).findings
    assert finding == Finding(
        "judgements",
        f"{own / 'qrels.trec'}: 3 of 4 topics have no judgements here (topics 2, 3, 4), and 3 of 4 judged"
        " topics are none of the topics (topics 11, 12, 13); check that both are numbered alike",
    )
    assert load_questions(sources(folder, "qrels"), JUDGED).findings == ()


def test_sets_of_pages_where_a_measure_needs_them(folder: Path) -> None:
    qrels = {"1": {"p#1": 1, "q#2": 1, "r": 1}, "3": {"p#3": 1, "p#4": 1}}
    evidence = {"1": [["p#1", "q#2"], ["r"]], "3": [["p#3", "p#4"]]}
    topics = ["1", "2", "3", "4"]
    gold = sources(folder, "topics", "gold")
    assert load_questions(gold, SETS) == Questions("own", topics, None, qrels, evidence)
    assert load_questions(gold, JUDGED) == Questions("own", topics, None, qrels)
    pages = {"1": {"p": 1, "q": 1, "r": 1}, "3": {"p": 1}}
    folded = {"1": [["p", "q"], ["r"]], "3": [["p"]]}
    assert load_questions(gold, SETS, "#") == Questions("own", topics, None, pages, folded)
    assert load_questions(sources(folder, "topics", "qrels"), SETS).evidence is None
    assert load_questions(sources(folder, "topics"), SETS) == Questions("own", topics)


def test_answers_to_look_for_and_to_compare_with(folder: Path) -> None:
    given, path = sources(folder, "topics", "answers"), folder / "collections" / "own" / "answers.jsonl"
    looked_for = load_questions(given, ANSWERED)
    assert looked_for == Questions("own", ["1", "2", "3", "4"], {"1": ["x"], "3": ["y", "z"]})
    assert [(finding.kind, finding.text) for finding in looked_for.findings] == [
        ("answers", f"{path}: 2 answers of 2 topics match any text or none, and were left out: topics 2, 3"),
        ("answers", f"{path}: 2 of 4 topics have no answer to look for: topics 2, 4"),
    ]
    compared = load_questions(given, WRITTEN)
    golds = {"1": ["x"], "3": ["y", "z"]}
    assert compared == Questions("own", ["1", "2", "3", "4"], golds=golds)
    assert [(finding.kind, finding.text) for finding in compared.findings] == [
        (
            "answers",
            f"{path}: 2 of 4 topics have no answer to compare with, and count as 0: topics 2, 4",
        )
    ]
    both = load_questions(given, [*ANSWERED, *WRITTEN, *JUDGED])
    assert (both.answers, both.golds, both.qrels) == (looked_for.answers, golds, None)
    assert both.findings == (*compared.findings, *looked_for.findings)
    everything = load_questions(sources(folder, "topics", "answers", "qrels"), [*ANSWERED, *WRITTEN, *JUDGED])
    kinds = [finding.kind for finding in everything.findings]
    assert kinds == ["judgements", "no-relevant", "answers", "answers", "answers"]
    own = load_questions(sources(folder, "answers", "qrels"), [*ANSWERED, *JUDGED])
    assert (own.topics, own.are_all, own.answers) == (
        ["1", "2", "3", "8"],
        False,
        {"1": ["x"], "3": ["y", "z"], "8": ["y"]},
    )


def test_answers_are_patterns_if_the_rule_says_so(folder: Path) -> None:
    written(folder / "collections" / "own" / "answers.jsonl", {"qid": "1", "answers": ["x.z", ".*"]})
    found = load_questions(sources(folder, "topics", "answers"), ANSWERED, matching=REGEX)
    assert found.answers == {"1": ["x.z"]}
    assert load_questions(sources(folder, "topics", "answers"), ANSWERED).answers == {"1": ["x.z", ".*"]}


def test_what_no_measure_needs_is_not_read(folder: Path) -> None:
    nowhere = Path("nowhere")
    given = sources(folder, "topics", "answers", "qrels")
    assert load_questions(given._replace(answers=nowhere), JUDGED).answers is None
    assert load_questions(given._replace(qrels=nowhere), ANSWERED).qrels is None
    for columns, kind in ((JUDGED, "qrels"), (WRITTEN, "answers")):
        with pytest.raises(InputError, match=r"^nowhere: "):
            load_questions(given._replace(**{kind: nowhere}), columns)


@pytest.mark.parametrize(
    ("name", "lines", "columns", "message"),
    [
        ("qrels.trec", [""], JUDGED, "is blank; check that it is the file you mean"),
        ("answers.jsonl", [""], WRITTEN, "is blank; check that it is the file you mean"),
        (
            "qrels.trec",
            ["01 0 a 1"],
            JUDGED,
            "0 of 4 topics have judgements here (the topics are like '1', these like '01'); the ids must be"
            " equal",
        ),
        (
            "answers.jsonl",
            [{"qid": "x", "answers": ["y"]}],
            ANSWERED,
            "0 of 4 topics have answers here (the topics are like '1', these like 'x'); the ids must be"
            " equal",
        ),
        (
            "answers.jsonl",
            [{"qid": "1", "answers": [" "]}, {"qid": "8", "answers": ["y"]}],
            WRITTEN,
            "no topic has an answer to compare with; every measure of answers would be 0",
        ),
        (
            "answers.jsonl",
            [{"qid": "1", "answers": [" "]}, {"qid": "8", "answers": ["y"]}],
            ANSWERED,
            "no topic has an answer to look for; accuracy would be 0 for all",
        ),
    ],
)
def test_files_that_nothing_can_be_measured_against(
    folder: Path, name: str, lines: list[object], columns: list[object], message: str
) -> None:
    path = written(folder / "collections" / "own" / name, *lines)
    with pytest.raises(InputError) as told:
        load_questions(sources(folder, "topics", "answers", "qrels"), columns)  # type: ignore[arg-type]
    assert str(told.value) == f"{path}: {message}"
