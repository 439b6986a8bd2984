"""The checks of an evaluation as functions: what they see without a command around them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.eval.evaluation import EvalOptions, evaluate
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions, Sources, load_questions
from seal_ir.eval.sentinel import judged_share, other_topics, unknown_topics
from seal_ir.eval.texts import index_passages
from seal_ir.eval.training import overlaps
from seal_ir.records import Query

JUDGED = parse_measures(["P@1"])
NEEDS_DATA = pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def lacking(tmp_path: Path) -> tuple[Path, Questions]:
    """A run without the second of two topics."""
    return written(tmp_path / "run", "1 Q0 a 1 1 t\n"), Questions(
        "t", ["1", "2"], None, {"1": {"a": 1}, "2": {"b": 1}}
    )


def test_the_table_keeps_what_was_told_and_strict_raises_it(
    lacking: tuple[Path, Questions], caplog: pytest.LogCaptureFixture
) -> None:
    run, questions = lacking
    (finding,) = evaluate([run], questions, JUDGED).findings
    assert (finding.kind, finding.text) == (
        "missing-topics",
        f"{run}: 1 of 2 topics have no results, and count as 0 but for --average in-run: topics 2",
    )
    assert caplog.messages == [finding.text]
    with pytest.raises(InputError, match=r"strict: 1 warning, the first: .*run: 1 of 2 topics have no"):
        evaluate([run], questions, JUDGED, options=EvalOptions(strict=True))


def test_strict_refuses_what_was_found_in_the_questions_too(tmp_path: Path) -> None:
    qrels = written(tmp_path / "qrels", "1 0 a 1\n2 0 a 0\n")
    run = written(tmp_path / "run", "1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n")
    questions = load_questions(Sources("t", None, None, qrels), JUDGED)
    assert [finding.kind for finding in questions.findings] == ["no-relevant"]
    assert evaluate([run], questions, JUDGED).findings == questions.findings
    with pytest.raises(InputError, match="1 of 2 judged topics have no relevant document"):
        evaluate([run], questions, JUDGED, options=EvalOptions(strict=True))


def test_topics_that_no_measure_is_over_may_be_missing(tmp_path: Path) -> None:
    run = written(tmp_path / "run", "1 Q0 a 1 1 t\n")
    questions = Questions("t", ["1", "2"], {"2": ["x"]}, {"1": {"a": 1}})
    assert evaluate([run], questions, JUDGED).findings == ()


@pytest.mark.parametrize(
    ("topics", "judged", "told"),
    [
        ("1234", "1234", False),
        ("1234", "12", False),  # some topics were not judged
        ("12", "1234", False),  # a sample of the topics
        ("1234567890", "1234567abcdefgh", False),  # a sample of topics that are judged in part
        ("1234567890", "123456abcd", True),  # numbered anew, from the seventh on
        ("1234567890", "1abcdefgh", True),
    ],
)
def test_topics_and_judgements_that_meet_in_part(topics: str, judged: str, told: bool) -> None:
    findings = list(other_topics(Path("qrels"), topics, judged))
    assert [finding.kind for finding in findings] == (["judgements"] if told else [])
    # Without a list of topics, those that are judged stand for it: the run may well have more.
    findings = list(unknown_topics(Path("run"), {qid: [] for qid in topics}, judged, are_all=False))
    assert [finding.kind for finding in findings] == (["unknown-topics"] if told else [])


@pytest.mark.data
@NEEDS_DATA
def test_the_cranfield_file_that_is_going_round_is_told() -> None:
    """Its topics have numbers up to 365, its judgements count from 1 to 225."""
    (told,) = real_findings("trec/cranfield/cran.qry.xml", "trec/cranfield/cranqrel.trec.txt")
    assert "73 of 225 topics have no judgements here (topics 226, 227, 230, ...), and 73 of 225" in told


@pytest.mark.data
@NEEDS_DATA
@pytest.mark.parametrize(
    ("topics", "qrels"),
    [
        ("trec/cacm/topics.cacm.txt", "trec/cacm/qrels.cacm.txt"),
        ("trec/vaswani/query_light.trec", "trec/vaswani/qrels"),
        *((f"topics/{name}.tsv", f"qrels/{name}.trec") for name in ("nq-test", "squadwiki-dev", "boolq-dev")),
    ],
)
def test_real_topics_and_judgements_are_sound(topics: str, qrels: str) -> None:
    assert real_findings(topics, qrels) == []


@pytest.mark.data
@NEEDS_DATA
def test_real_answers_are_sound() -> None:
    folder = Path(os.environ["SEAL_IR_DATA"])
    columns = parse_measures(["AnswerAccuracy@1"])
    for name in ("nq-test", "nq-dev", "squadwiki-dev"):
        sources = Sources(name, folder / f"topics/{name}.tsv", folder / f"answers/{name}.jsonl", None)
        assert load_questions(sources, columns).findings == ()


def real_findings(topics: str, qrels: str) -> list[str]:
    folder = Path(os.environ["SEAL_IR_DATA"])
    found = load_questions(Sources("t", folder / topics, None, folder / qrels), JUDGED).findings
    return [finding.text for finding in found]


def test_ties_of_pages_are_those_of_their_best_passages(tmp_path: Path) -> None:
    qrels = {"1": {"a": 1}}
    run = written(tmp_path / "run", "1 Q0 a#1 1 3 t\n1 Q0 b#1 2 3 t\n1 Q0 a#2 3 2 t\n1 Q0 c#1 4 2 t\n")
    questions = Questions("t", ["1"], None, qrels)
    pages = evaluate([run], questions, parse_measures(["P@1", "AP"]), options=EvalOptions(delimiter="#"))
    assert [finding.text for finding in pages.findings] == [
        f"{run}: equal scores of 1 topics leave open P@1 (0.0000 to 1.0000), AP (0.5000 to 1.0000); they are"
        " put in trec_eval's order, by id from the last: topics 1"
    ]
    second = written(tmp_path / "second", "1 Q0 a#1 1 3 t\n1 Q0 a#2 2 2 t\n1 Q0 c#1 3 2 t\n")
    options = EvalOptions(delimiter="#")
    assert evaluate([second], questions, parse_measures(["P@1", "AP"]), options=options).findings == ()


def test_answers_behind_the_cut_that_tie_with_it_are_looked_at(tmp_path: Path) -> None:
    run = written(tmp_path / "run", "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n1 Q0 c 3 1 t\n1 Q0 d 4 0 t\n")
    questions = Questions("t", ["1"], {"1": ["yes"]})
    columns = parse_measures(["AnswerAccuracy@1"])
    for holder, told in (("a", True), ("b", True), ("c", True), ("d", False)):
        bodies = {docid: "yes" if docid == holder else "no" for docid in "abcd"}
        asked: set[str] = set()

        def texts(docids: object, asked: set[str] = asked, bodies: dict[str, str] = bodies) -> dict[str, str]:
            asked.update(docids)  # type: ignore[call-overload]
            return {docid: bodies[docid] for docid in asked}

        table = evaluate([run], questions, columns, texts)
        assert [finding.kind for finding in table.findings] == (["ties"] if told else [])
        assert table.results[0].figures["AnswerAccuracy@1"] == float(holder == "c")
        assert asked == {"a", "b", "c"}  # d is behind the cut and ties with nothing before it


def test_passages_behind_the_cut_may_be_lacking(tmp_path: Path) -> None:
    """Figures do not need them: those that the source lacks hold no answer."""
    run = written(tmp_path / "run", "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n1 Q0 c 3 1 t\n")
    questions = Questions("t", ["1"], {"1": ["yes"]})
    for bodies, told in (({"c": "no"}, []), ({"c": "no", "b": "yes"}, ["ties"])):
        table = evaluate([run], questions, parse_measures(["AnswerAccuracy@1"]), lambda _, its=bodies: its)
        assert table.results[0].figures["AnswerAccuracy@1"] == 0
        assert [finding.kind for finding in table.findings] == told
    with pytest.raises(InputError, match="1 of 1 passages in the runs, such as 'c', are not in"):
        evaluate([run], questions, parse_measures(["AnswerAccuracy@1"]), lambda _: {"b": "yes"})


def test_judged_share_is_over_results_of_judged_topics() -> None:
    rankings = {"1": ["a", "b", "c"], "2": ["a"], "3": ["x", "y"]}
    qrels = {"1": {"a": 1, "c": 0}, "2": {"b": 1}}
    assert judged_share(rankings, qrels, 2) == 1 / 3
    assert judged_share(rankings, qrels, 3) == 2 / 4
    assert judged_share({}, qrels, 3) != judged_share({}, qrels, 3)


def test_an_index_knows_its_ids(tiny_index: Path) -> None:
    known = index_passages(tiny_index).known
    assert known(["d1", "d3#0"]) == {"d1", "d3#0"}
    assert known(["d1", "zz", ""]) == {"d1"}
    assert known([]) == set()


def test_near_is_what_shares_its_rare_words() -> None:
    known = [
        "Who wrote the lyrics to the song?",
        "what is the capital of france",
        "who sang yellow submarine",
    ]
    asked = [
        "WHO WROTE THE LYRICS TO THE SONG",
        "what is the capital of mali",
        "who sang the yellow submarine",
    ]
    found = overlaps([Query(str(i), text) for i, text in enumerate(asked)], known)
    assert [(met.qid, met.question, met.exact) for met in found] == [
        ("0", known[0], True),
        ("2", known[2], False),
    ]
    assert overlaps([Query("1", "?")], ["", "!"]) == []
