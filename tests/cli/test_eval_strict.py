"""What `python -m seal_ir.eval` finds doubtful: each kind is told in one line, and refused with --strict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from seal_ir.eval.__main__ import main
from seal_ir.eval.findings import KINDS
from tests.helpers.commands import Result, Runner

# A run without fault over tests.helpers.tiny: three judged passages for each topic, the relevant one first.
GOOD = {
    "topics": "1\twhich river flows through paris\n2\twhich river flows through london\n"
    "3\twhat is the highest mountain\n4\twhat is a whale\n",
    "answers": '{"qid": "1", "answers": ["Seine"]}\n{"qid": "2", "answers": ["Thames"]}\n'
    '{"qid": "3", "answers": ["Everest"]}\n{"qid": "4", "answers": ["mammal"]}\n',
    "qrels": "1 0 d1 1\n1 0 d2 0\n1 0 d4 0\n2 0 d2 1\n2 0 d1 0\n2 0 d5 0\n"
    "3 0 d3#0 1\n3 0 d3#1 0\n3 0 d6 0\n4 0 d5 1\n4 0 d4 0\n4 0 d2 0\n",
    "run": "1 Q0 d1 1 3 t\n1 Q0 d2 2 2 t\n1 Q0 d4 3 1 t\n2 Q0 d2 1 3 t\n2 Q0 d1 2 2 t\n2 Q0 d5 3 1 t\n"
    "3 Q0 d3#0 1 3 t\n3 Q0 d3#1 2 2 t\n3 Q0 d6 3 1 t\n4 Q0 d5 1 3 t\n4 Q0 d4 2 2 t\n4 Q0 d2 3 1 t\n",
    "predictions": '{"qid": "1", "answer": "the Seine"}\n{"qid": "2", "answer": "Thames"}\n'
    '{"qid": "3", "answer": "K2"}\n{"qid": "4", "answer": "mammal"}\n',
    "training": "1\twho wrote on the origin of species\n2\twhere do penguins live\n",
}
KILT = "".join(
    f'{{"id": "{qid}", "output": [{{"provenance": [{{"wikipedia_id": "{page}"}}]}}]}}\n'
    for qid, page in (("1", "d1"), ("2", "d2"), ("3", "d3#0"), ("4", "d5"))
)
# Topic 4 has two sets of pages: ties of pages that are all relevant leave it open which set is whole first.
TWO_SETS = KILT.replace(
    '[{"wikipedia_id": "d5"}]}',
    '[{"wikipedia_id": "d5"}, {"wikipedia_id": "d2"}]}, {"provenance": [{"wikipedia_id": "d4"}]}',
)
OTHERS = "".join(
    f'{{"id": "{qid}", "question": "?", "ctxs": [{{"id": "x{qid}", "text": "{text}", "score": 1}},'
    f' {{"id": "y{qid}", "text": "else", "score": 1}}]}}\n'
    for qid, text in (("1", "the Seine"), ("2", "the Thames"), ("3", "K2"), ("4", "a mammal"))
)
WRITTEN = ("--predictions", "predictions", "--measures", "EM", "P@2")
MEASURES = ["AnswerAccuracy@1", "AnswerAccuracy@3", "P@2", "nDCG@3", "AP"]

Changes = Mapping[str, tuple[str, str]]  # by file: what is put there for what; all of it for ""


def case(kind: str, told: str, changes: Changes, *options: str) -> object:
    return pytest.param(kind, told, changes, options, id=f"{kind}: {told[:40]}")


CASES = [
    case(
        "missing-topics",
        "run.trec: 1 of 4 topics have no results, and count as 0 but for --average in-run: topics 4",
        {"run": ("4 Q0 d5 1 3 t\n4 Q0 d4 2 2 t\n4 Q0 d2 3 1 t\n", "")},
    ),
    case("missing-topics", "run.trec: the run is empty; every topic counts as", {"run": ("", "\n")}),
    case(
        "unknown-topics",
        "run.trec: 1 of 5 topics of the run are none that figures are over, and are left out: topics 9",
        {"run": ("4 Q0 d5", "9 Q0 d1 1 3 t\n4 Q0 d5")},
    ),
    case(
        "missing-answers",
        "predictions: 2 of 4 topics have no answer, and count as 0: topics 3, 4",
        {"predictions": ('"K2"}\n{"qid": "4", "answer": "mammal"}', '" "}')},
        *WRITTEN,
    ),
    case(
        "unknown-topics",
        "predictions: 1 of 5 topics of the answers are none that figures are over, and are left out: topics"
        " 9",
        {"predictions": ('{"qid": "1"', '{"qid": "9", "answer": "x"}\n{"qid": "1"')},
        *WRITTEN,
    ),
    case(
        "unknown-documents",
        "run.trec: 2 of 9 documents are not in the index or collection given; is it the one that was"
        " searched? Documents d7, d8",
        {"run": ("2 Q0 d2 1", "1 Q0 d8 4 0.5 t\n1 Q0 d7 5 0.4 t\n2 Q0 d2 1")},
    ),
    case(
        "unknown-documents",
        "judgements of topics: 1 of 5 documents are not in the index or collection given;",
        {"qrels": ("1 0 d2 0", "1 0 d9 1\n1 0 d2 0\n1 0 d5 0\n")},
    ),
    case(
        "no-relevant",
        "run: no relevant document is in it; check that ids of the run and of the judgements are of one kind",
        {"qrels": ("", "1 0 d6 1\n2 0 d6 1\n3 0 d2 1\n4 0 d6 1\n")},
    ),
    case(
        "no-relevant",
        "qrels: 1 of 4 judged topics have no relevant document (grade 1 or more); all runs get 0: topics 3",
        {"qrels": ("d3#0 1", "d3#0 0")},
    ),
    case(
        "ties",
        "run.trec: equal scores of 1 topics leave open P@2 (0.3750 to 0.5000), nDCG@3 (0.8750 to 1.0000), AP"
        " (0.8333 to 1.0000); they are put in trec_eval's order, by id from the last: topics 4",
        {
            "run": ("d5 1 3 t\n4 Q0 d4 2 2 t\n4 Q0 d2 3 1", "d5 1 1 t\n4 Q0 d4 2 1 t\n4 Q0 d2 3 1"),
            "answers": ("mammal", "whatever"),
        },
    ),
    case(
        "ties",
        "run.trec: equal scores of 1 topics leave open AnswerAccuracy@1 (0.7500 to 1.0000); they are",
        {"run": ("d5 1 3 t\n4 Q0 d4 2 2", "d5 1 2 t\n4 Q0 d4 2 2"), "qrels": ("4 0 d4 0", "4 0 d4 1")},
    ),
    case(
        "ties",
        "run.trec: equal scores of 1 topics leave open KiltRprec (0.7500 to 1.0000), KiltEM (0.5000 to"
        " 0.7500); they are",
        {"run": ("d5 1 3 t\n4 Q0 d4 2 2", "d5 1 2 t\n4 Q0 d4 2 2"), "qrels": ("", KILT)},
        *("--predictions", "predictions", "--measures", "KiltRprec", "EM", "KiltEM"),
    ),
    case(
        "ties",
        "run.trec: equal scores of 1 topics leave open KiltRprec (0.8750 to 1.0000), KiltEM (0.5000 to"
        " 0.7500); they are",
        {"run": ("d5 1 3 t\n4 Q0 d4 2 2", "d5 1 2 t\n4 Q0 d4 2 2"), "qrels": ("", TWO_SETS)},
        *("--predictions", "predictions", "--measures", "KiltRprec", "EM", "KiltEM"),
    ),
    case(
        "depth",
        "run.trec: no topic has more than 3 results; P@5 look deeper, where all counts as wrong",
        {},
        *("--measures", *MEASURES, "P@5"),
    ),
    case(
        "unjudged",
        "run.trec: 37.5 % of the top 2 of judged topics are judged, less than 50 %; what is not counts as",
        {"qrels": (" 0\n", "x 0\n"), "run": ("4 Q0 d5 1 3", "4 Q0 d1 0 4 t\n4 Q0 d6 0 3.5 t\n4 Q0 d5 1 3")},
    ),
    case(
        "unjudged",
        "run.trec: 50.0 % of the top 2 of judged topics are judged, less than 60 %; what is not counts as",
        {"qrels": (" 0\n", "x 0\n")},
        *("--min-judged", "0.6"),
    ),
    case(
        "ranks",
        "run.trec: ranks of 1 topics contradict their scores; scores count, the highest first: topics 1",
        {"run": ("d1 1 3 t\n1 Q0 d2 2 2", "d1 2 3 t\n1 Q0 d2 1 2")},
    ),
    case(
        "answers",
        "answers: 1 of 4 topics have no answer to look for: topics 3",
        {"answers": ('{"qid": "3", "answers": ["Everest"]}\n', "")},
    ),
    case(
        "answers",
        "answers: 1 of 4 topics have no answer to compare with, and count as 0: topics 3",
        {"answers": ('["Everest"]', '[" "]')},
        *WRITTEN,
    ),
    case(
        "judgements",
        "qrels: 1 lines repeat a judgement, the first of them line 2; each judgement counts once",
        {"qrels": ("1 0 d1 1\n", "1 0 d1 1\n1 0 d1 1\n")},
    ),
    case(
        "judgements",
        "qrels: 2 of 4 topics have no judgements here (topics 3, 4), and 2 of 4 judged topics are none of the"
        " topics (topics 13, 14); check that both are numbered alike",
        {"qrels": ("", "1 0 d1 1\n2 0 d2 1\n13 0 d1 1\n14 0 d1 1\n")},
    ),
    case(
        "training",
        "training: 1 of 4 topics are training questions, word for word: topics 4",
        {"training": ("where do penguins live", "What is a Whale?")},
    ),
    case(
        "training",
        "training: 1 of 4 topics are nearly training questions, such as 2 ('which river flows through london'"
        " and 'Through London, which river flows?'): topics 2",
        {"training": ("where do penguins live", "Through London, which river flows?")},
    ),
]  # fmt: skip


class Measure:
    """The command on the good files, of which some were changed, over the tiny index."""

    def __init__(self, call: Runner, folder: Path, index: Path) -> None:
        self.call, self.folder, self.index = call, folder, index
        (folder / "out").mkdir()

    def __call__(self, changes: Changes, *options: str) -> Result:
        for name, text in GOOD.items():
            old, new = changes.get(name, ("", text))
            path = self.folder / (f"{name}.trec" if name == "run" else name)
            path.write_text(text.replace(old, new) if old else new, encoding="utf-8")
        files = [f"--{name}={self.folder / name}" for name in ("topics", "answers", "qrels", "training")]
        written = [f"--output={self.folder / 'out' / 'json'}", f"--per-topic={self.folder / 'out' / 'q.tsv'}"]
        run = f"--run={self.folder / 'run.trec'}"
        measures = [] if "--measures" in options else ["--measures", *MEASURES]
        given = [str(self.folder / option) if option in GOOD else option for option in options]
        return self.call(main, run, *files, f"--index={self.index}", *written, *measures, *given)

    def written(self) -> list[Path]:
        return list((self.folder / "out").iterdir())

    def kinds(self) -> list[str]:
        value = json.loads((self.folder / "out" / "json").read_text(encoding="utf-8"))
        return [finding["kind"] for finding in value["warnings"]]


@pytest.fixture
def measure(call: Runner, tmp_path: Path, tiny_index: Path) -> Measure:
    return Measure(call, tmp_path, tiny_index)


def test_a_sound_evaluation_has_no_warning_and_is_taken_when_strict(measure: Measure) -> None:
    done = measure({}, "--strict")
    assert done.code == 0
    assert done.err == (
        "run: 4 topics, 4 in run, 0 missing; 4 judged, 4 in run, 0 missing; missing counts as 0;"
        " no run topics unknown\n"
    )
    assert done.out.splitlines()[1].split() == ["run", "1.0000", "1.0000", "0.5000", "1.0000", "1.0000"]
    assert measure.kinds() == []
    assert len(measure.written()) == 2


@pytest.mark.parametrize(("kind", "told", "changes", "options"), CASES)
def test_what_is_doubtful_is_told_and_refused_when_strict(
    measure: Measure, kind: str, told: str, changes: Changes, options: tuple[str, ...]
) -> None:
    done = measure(changes, "--strict", *options)
    assert (done.code, done.out, measure.written()) == (1, "", [])
    *warnings, error = done.err.splitlines()
    (line,) = warnings
    assert told in line
    assert error == (
        f"error: strict: 1 warning, the first: {line}; mend what is told, or measure without strict"
    )
    done = measure(changes, *options)
    assert (done.code, measure.kinds(), len(measure.written())) == (0, [kind], 2)
    assert done.err.splitlines()[0] == line


def test_every_kind_has_a_case() -> None:
    assert {case.values[0] for case in CASES} == set(KINDS)  # type: ignore[attr-defined]


SOUND: list[tuple[str, Changes, tuple[str, ...]]] = [
    # Only relevant documents were written down, as for NQ: what is not there was not forgotten.
    ("sparse judgements", {"qrels": ("", "1 0 d1 1\n2 0 d2 1\n3 0 d3#0 1\n4 0 d5 1\n")}, ()),
    ("topics without judgements", {"qrels": ("3 0 d3#0 1\n3 0 d3#1 0\n3 0 d6 0\n", "")}, ()),
    ("judgements of further topics", {"qrels": ("1 0 d1 1", "9 0 d1 1\n8 0 d1 1\n1 0 d1 1")}, ()),
    ("ties that change no figure", {"run": ("d4 2 2 t\n4 Q0 d2 3 1", "d4 2 1 t\n4 Q0 d2 3 1")}, ()),
    ("a training question of like words", {"training": ("where do penguins", "what is a penguin")}, ()),
    ("a share that is reached", {"qrels": (" 0\n", "x 0\n")}, ("--min-judged", "0.5")),
    ("written answers, some of them wrong", {}, WRITTEN),
    ("answers in KILT's forms", {"qrels": ("", KILT)}, (*WRITTEN, "KiltRprec", "KiltEM")),
    ("answers alone, whatever the run has", {"run": ("4 Q0 d5", "9 Q0 zz")}, (*WRITTEN[:3], "EM")),
    # In JSON the order is the ranking, whatever the scores; what brings its texts need not be in the index.
    ("a run of others", {"run": ("", OTHERS)}, ("--measures", "AnswerAccuracy@1", "AnswerAccuracy@2")),
    ("an answer that is kept beside a blank one", {"answers": ('["Seine"]', '["Seine", "the Seine"]')}, ()),
]


@pytest.mark.parametrize(("changes", "options"), [sound[1:] for sound in SOUND], ids=[s[0] for s in SOUND])
def test_what_is_usual_is_no_warning(measure: Measure, changes: Changes, options: tuple[str, ...]) -> None:
    done = measure(changes, "--strict", *options)
    assert done.code == 0, done.err
    assert measure.kinds() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--min-judged", "1.5"], "--min-judged is 1.5; it is a share, at most 1"),
        (["--min-judged", "nan"], "--min-judged is nan; it must be at least 0"),
        (["--training", "x"], "--training compares questions; name those of the runs with --topics"),
    ],
)
def test_options_that_mean_nothing(call: Runner, tmp_path: Path, options: list[str], message: str) -> None:
    done = call(main, "--run", tmp_path / "run", "--qrels", tmp_path / "qrels", *options)
    assert (done.code, done.out, done.err.splitlines()[-1]) == (2, "", f"error: {message}")


def test_a_training_file_that_holds_no_questions_is_an_error(measure: Measure) -> None:
    done = measure({"training": ("", "\n")})
    assert (done.code, done.out) == (1, "")
    assert "training: is blank" in done.err.splitlines()[-1]
