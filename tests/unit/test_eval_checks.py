"""Each check of an evaluation by itself: when it tells, and what it says, to the letter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.eval import sentinel
from seal_ir.eval.findings import Finding, refuse, tell
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage, Retrieved
from seal_ir.eval.training import likeness, overlaps, training_findings, with_training, word_weights
from seal_ir.records import Query

RANKINGS = {"1": ["a", "b", "c"], "2": ["d"], "3": ["e", "f"]}
NONE: list[str] = []


def told(findings: Iterable[Finding], kind: str) -> list[str]:
    """The texts of findings that are all of one kind."""
    found = list(findings)
    assert {finding.kind for finding in found} <= {kind}
    return [finding.text for finding in found]


def test_topics_that_the_run_lacks() -> None:
    kind = "missing-topics"
    assert told(sentinel.missing_topics("w", RANKINGS, ["1", "3"]), kind) == NONE
    assert told(sentinel.missing_topics("w", RANKINGS, ["1", "4", "5"]), kind) == [
        "w: 2 of 3 topics have no results, and count as 0 but for --average in-run: topics 4, 5"
    ]
    empty = ["w: the run is empty; every topic counts as one without results"]
    assert told(sentinel.missing_topics("w", {}, ["1"]), kind) == empty
    assert told(sentinel.missing_topics("w", {}, []), kind) == empty


def test_topics_that_have_no_written_answer() -> None:
    kind = "missing-answers"
    assert told(sentinel.missing_answers("w", {"1": "x", "2": "y", "3": ""}, ["1", "2"]), kind) == NONE
    assert told(sentinel.missing_answers("w", {"1": "x", "2": " \n"}, ["1", "2", "3"]), kind) == [
        "w: 2 of 3 topics have no answer, and count as 0: topics 2, 3"
    ]


def test_topics_that_nothing_is_asked_of() -> None:
    kind = "unknown-topics"
    assert told(sentinel.unknown_topics("w", "12", "123", are_all=True), kind) == NONE
    assert told(sentinel.unknown_topics("w", "1298", "123", are_all=True), kind) == [
        "w: 2 of 4 topics of the run are none that figures are over, and are left out: topics 9, 8"
    ]
    assert told(sentinel.unknown_topics("w", "1298", "123", are_all=False, of="these"), kind) == [
        "w: 2 of 4 topics of these are none that figures are over, and are left out: topics 9, 8"
    ]
    assert told(sentinel.unknown_topics("w", "12398", "123", are_all=False), kind) == NONE


def test_documents_that_the_collection_lacks() -> None:
    asked: list[object] = []

    def known(docids: Iterable[str]) -> set[str]:
        asked.append(docids)
        return {"a", "b"}

    kind = "unknown-documents"
    assert told(sentinel.unknown_documents("w", ["a", "b"], known), kind) == NONE
    assert told(sentinel.unknown_documents("w", ["z", "a", "x"], known), kind) == [
        "w: 2 of 3 documents are not in the index or collection given; is it the one that was searched?"
        " Documents x, z"
    ]
    assert asked == [["a", "b"], ["z", "a", "x"]]


def test_relevant_documents_have_a_grade_of_1_or_more() -> None:
    qrels = {"1": {"a": 1, "b": 0, "c": -1}, "2": {"d": 3, "a": 0}, "3": {"b": -2}}
    assert sentinel.relevant(qrels) == {"a", "d"}
    assert told(sentinel.without_relevant("w", {"1": qrels["1"], "2": qrels["2"]}), "no-relevant") == NONE
    assert told(sentinel.without_relevant("w", {**qrels, "4": {"c": 0}}), "no-relevant") == [
        "w: 2 of 4 judged topics have no relevant document (grade 1 or more); all runs get 0: topics 3, 4"
    ]


@pytest.mark.parametrize(
    ("judged_in_run", "relevant_in_run", "is_told"),
    [(3, 0, True), (1, 0, True), (3, 1, False), (0, 0, False), (None, None, False)],
)
def test_runs_without_a_relevant_document(
    judged_in_run: int | None, relevant_in_run: int | None, is_told: bool
) -> None:
    coverage = Coverage(5, 5, 4, judged_in_run, relevant_in_run, 0)
    assert told(sentinel.no_relevant("s", coverage), "no-relevant") == (
        [
            "s: no relevant document is in it; check that ids of the run and of the judgements are of one"
            " kind (passages, or pages with --max-passage)"
        ]
        if is_told
        else []
    )


def test_measures_that_look_deeper_than_the_run() -> None:
    columns = parse_measures(["P@3", "AnswerAccuracy@4", "AP", "nDCG@5"])
    assert told(sentinel.too_deep("w", RANKINGS, columns), "depth") == [
        "w: no topic has more than 3 results; AnswerAccuracy@4, nDCG@5 look deeper, where all counts as wrong"
    ]
    assert told(sentinel.too_deep("w", {"1": list("abcde")}, columns), "depth") == NONE
    assert told(sentinel.too_deep("w", {}, columns), "depth") == NONE


QRELS = {"1": {"a": 1, "x": 0, "y": 0}, "2": {"z": 1}}  # half are relevant; of the run a alone is judged


@pytest.mark.parametrize(
    ("measures", "least", "expected"),
    [
        (["P@1"], None, []),  # a of topic 1, nothing of topic 2: half
        (["P@1"], 0.51, ["w: 50.0 % of the top 1 of judged topics are judged, less than 51 %"]),
        (["P@3", "nDCG@5"], 0.6, ["w: 25.0 % of the top 3 of judged topics are judged, less than 60 %"]),
        (["P@3"], 0.25, []),
        (["AP", "P@20"], 0.6, ["w: 25.0 % of the top 10 of judged topics are judged, less than 60 %"]),
        (
            ["AnswerAccuracy@1", "P@3"],
            0.6,
            ["w: 25.0 % of the top 3 of judged topics are judged, less than 60 %"],
        ),
        (["P@3"], 0.0, []),
    ],
)
def test_a_top_of_which_too_little_was_judged(
    measures: list[str], least: float | None, expected: list[str]
) -> None:
    found = told(sentinel.unjudged("w", RANKINGS, QRELS, parse_measures(measures), least), "unjudged")
    assert found == [f"{text}; what is not counts as wrong" for text in expected]


@pytest.mark.parametrize(
    ("n_relevant", "n_other", "is_looked_for"), [(1, 1, True), (1, 2, True), (2, 1, False), (3, 2, False)]
)
def test_judgements_of_relevant_documents_alone_tell_nothing_of_the_others(
    n_relevant: int, n_other: int, is_looked_for: bool
) -> None:
    grades = {f"r{i}": 1 for i in range(n_relevant)} | {f"n{i}": -(i % 2) for i in range(n_other)}
    columns = parse_measures(["P@2"])
    found = told(sentinel.unjudged("w", {"1": ["a", "b"]}, {"1": grades}, columns, None), "unjudged")
    text = "w: 0.0 % of the top 2 of judged topics are judged, less than 50 %; what is not counts as wrong"
    assert found == ([text] if is_looked_for else [])
    assert told(sentinel.unjudged("w", {"1": ["a", "b"]}, {"1": grades}, columns, 0.5), "unjudged") == [text]
    assert told(sentinel.unjudged("w", {"2": ["a"]}, {"1": grades}, columns, 0.5), "unjudged") == []


def test_topics_without_anything_to_compare_with() -> None:
    assert told(sentinel.without_golds("w", {"1", "2"}, ["1", "2"]), "answers") == NONE
    assert told(sentinel.without_golds("w", {"1", "9"}, ["1", "2", "3"]), "answers") == [
        "w: 2 of 3 topics have no answer to compare with, and count as 0: topics 2, 3"
    ]


def test_topics_and_judgements_that_meet_in_part_name_three_of_each() -> None:
    topics, judged = [f"t{i}" for i in range(6)], ["t0", *(f"j{i}" for i in range(5))]
    assert told(sentinel.other_topics("w", topics, judged), "judgements") == [
        "w: 5 of 6 topics have no judgements here (topics t1, t2, t3, ...), and 5 of 6 judged topics are none"
        " of the topics (topics j0, j1, j2, ...); check that both are numbered alike"
    ]
    ten = [str(i) for i in range(10)]
    assert told(sentinel.other_topics("w", ten, [*ten[:7], "x", "y", "z"]), "judgements") == NONE  # 70 %


def test_what_a_run_shows_before_it_is_measured() -> None:
    """All of it in one order; documents whose texts the run brings are not looked up."""
    retrieved = Retrieved(
        {"1": ["a"], "9": ["b"]}, {}, frozenset("abc"), bodies={"a": "text"}, told=["w: ranks are odd"]
    )
    asked: list[set[str]] = []

    def known(docids: Iterable[str]) -> set[str]:
        asked.append(set(docids))
        return {"b"}

    columns = parse_measures(["P@2"])
    found = sentinel.run_findings("w", retrieved, ["1", "2"], ["1", "2"], columns, known, are_all=True)
    assert [finding.kind for finding in found] == [
        *("ranks", "missing-topics", "unknown-topics", "unknown-documents", "depth")
    ]
    assert found[0].text == "w: ranks are odd"
    assert all(finding.text.startswith("w: ") for finding in found)
    assert asked == [{"b", "c"}]
    assert found[3].text.startswith("w: 1 of 2 documents are not in the index")
    found = sentinel.run_findings("w", retrieved, ["1", "2"], ["1", "2"], columns, None, are_all=False)
    assert [finding.kind for finding in found] == ["ranks", "missing-topics", "unknown-topics", "depth"]
    found = sentinel.run_findings("w", retrieved, ["1"], ["1"], columns, None, are_all=False)
    assert [finding.kind for finding in found] == ["ranks", "depth"]
    found = sentinel.run_findings("w", retrieved, ["1"], ["1"], columns, None, are_all=True)
    assert [finding.kind for finding in found] == ["ranks", "unknown-topics", "depth"]
    assert all(finding.text.startswith("w: ") for finding in found)


def test_findings_are_logged_as_they_are_and_refused(caplog: pytest.LogCaptureFixture) -> None:
    one, two = Finding("ties", "100 % of %s"), Finding("depth", "deep")
    tell([one, two])
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "100 % of %s"),
        ("WARNING", "deep"),
    ]
    refuse([])
    for findings, count in (([one], "1 warning"), ([one, two], "2 warnings")):
        with pytest.raises(InputError) as error:
            refuse(findings)
        assert str(error.value) == (
            f"strict: {count}, the first: 100 % of %s; mend what is told, or measure without strict"
        )


def test_likeness_is_the_share_of_what_words_weigh() -> None:
    weights = word_weights([{"a", "b"}, {"a"}, {"a", "c"}])
    assert weights == pytest.approx({"a": 0.693147, "b": 1.386294, "c": 1.386294}, abs=1e-6)  # ln 2, ln 4
    assert likeness({"a", "b"}, {"a", "c"}, weights) == pytest.approx(1 / 5)
    assert likeness({"a", "b"}, {"a", "b"}, weights) == 1
    assert likeness({"b"}, {"c"}, weights) == 0
    assert likeness(set(), set(), weights) == 0


def test_the_most_like_question_and_of_these_the_first() -> None:
    topics = [Query("1", "who wrote the song"), Query("2", "x"), Query("3", "?!")]
    known = [
        "who wrote the novel",
        "wrote the song who",
        "song: who wrote the?",
        "who wrote the songs",
        "...",
    ]
    (found,) = overlaps(topics, known)
    assert (found.qid, found.question, found.likeness, found.exact) == ("1", known[1], 1, False)
    assert overlaps(topics, known, 1.0) == [found]  # the same words in another order
    (found,) = overlaps(topics[:1], [known[0], known[3]], 0.3)  # equally like
    assert found.question == known[0]
    assert found.likeness < 1
    (found,) = overlaps(topics, ["WHO wrote (the) song?", "who wrote the song"])
    assert (found.question, found.exact) == ("WHO wrote (the) song?", True)


def test_training_questions_are_told_file_by_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    topics, first, second = (tmp_path / name for name in ("topics.tsv", "first.tsv", "second.jsonl"))
    topics.write_text("1\twho wrote the song\n2\twhere is the nile\n3\tis it so\n", encoding="utf-8")
    first.write_text(
        "a\tWhere is the Nile?\nb\tthe song: who wrote?\nc\twho wrote the long song\n", encoding="utf-8"
    )
    second.write_text('{"question": "is it so"}\n', encoding="utf-8")
    questions = Questions("t", ["1", "2"], None, {"3": {"a": 1}}, findings=(Finding("depth", "before"),))
    found = with_training(questions, topics, [first, second]).findings
    texts = [
        f"{first}: 1 of 3 topics are training questions, word for word: topics 2",
        f"{first}: 1 of 3 topics are nearly training questions, such as 1 ('who wrote the song' and 'the"
        " song: who wrote?'): topics 1",
        f"{second}: 1 of 3 topics are training questions, word for word: topics 3",
    ]
    assert [(finding.kind, finding.text) for finding in found] == [
        ("depth", "before"),
        *(("training", text) for text in texts),
    ]
    assert caplog.messages == texts
    # Topics of the file that nothing is measured on are none of those asked.
    few = with_training(Questions("t", ["1"]), topics, [first])
    assert [finding.text for finding in few.findings] == [texts[1].replace("of 3", "of 1")]
    assert few.topics == ["1"]


def test_the_nearest_of_several_is_the_example() -> None:
    asked = [
        Query("9", "who wrote the novel of the year"),
        Query("2", "who wrote the song"),
        Query("3", "zz"),
    ]
    known = ["who wrote the novel of the day year", "the song who wrote"]
    (finding,) = training_findings(Path("t"), asked, known)
    assert finding.text == (
        "t: 2 of 3 topics are nearly training questions, such as 2 ('who wrote the song' and 'the song who"
        " wrote'): topics 9, 2"
    )
