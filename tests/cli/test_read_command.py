"""`python -m seal_ir.read`: from a run to answers and their figures, searching first, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from seal_ir.eval.__main__ import main as evaluate
from seal_ir.read import __main__ as command
from seal_ir.read.__main__ import main
from seal_ir.read.citing import citations
from seal_ir.read.predictions import iter_predictions
from seal_ir.read.records import Answer, Context
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner, assert_fault

RUN = "q1 Q0 d2 1 2 t\nq1 Q0 d1 2 1 t\nq2 Q0 d4 1 2 t\n"
ANSWERS = [{"qid": "q1", "answers": ["London"]}, {"qid": "q2", "answers": ["Kyoto", "Osaka"]}]


class TitleReader:
    """Answers with the title of the best passage."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def read(self, questions: Sequence[str], contexts: Sequence[Sequence[Context]]) -> list[Answer]:
        self.seen += [(question, len(each)) for question, each in zip(questions, contexts, strict=True)]
        titles = [each[0].title if each else "" for each in contexts]
        return [Answer(t, citations(t, each)) for t, each in zip(titles, contexts, strict=True)]


class Read:
    """Calls the command in a folder with topics, a run and answers."""

    def __init__(self, call: Runner, index: Path) -> None:
        self._call, self._index = call, index

    def __call__(self, *arguments: object, run: str = RUN, index: bool = True) -> Result:
        Path("topics.tsv").write_text("q1\twho\nq2\twhere\n", encoding="utf-8")
        Path("run.trec").write_text(run, encoding="utf-8")
        Path("answers.jsonl").write_text(
            "".join(f"{json.dumps(record)}\n" for record in ANSWERS), encoding="utf-8"
        )
        places = ["--index", self._index] if index else []
        return self._call(main, "--topics", "topics.tsv", *places, *arguments)


@pytest.fixture
def read(call: Runner, tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)
    return Read(call, tiny_index)


@pytest.fixture
def titles(monkeypatch: pytest.MonkeyPatch) -> TitleReader:
    """A reader without a model, in the place of the one that is named."""
    reader = TitleReader()
    monkeypatch.setattr(command, "lacks_weights", lambda name: False)
    monkeypatch.setattr(command, "use_threads", lambda n: None)
    monkeypatch.setattr(command, "load_reader", lambda spec, device, dtype: reader)
    return reader


def test_answers_are_written_and_measured(read: Read, titles: TitleReader) -> None:
    done = read("--run", "run.trec", "--answers", "answers.jsonl", "--contexts", 2)
    assert done.code == 0, done.err
    assert titles.seen == [("who", 2), ("where", 1)]
    found = {prediction.qid: prediction for prediction in iter_predictions(Path("predictions.jsonl"))}
    assert (found["q1"].question, found["q1"].answer.text) == ("who", "London")
    places = [(c.docid, c.start, c.end) for c in found["q1"].answer.citations]
    assert places == [("d2", 0, 6), ("d2", 36, 42)]
    assert done.out.splitlines()[0] == "predictions.jsonl"
    assert [line.split()[:3] for line in done.out.splitlines() if line.startswith(("EM", "F1"))] == [
        ["EM", "predictions", "0.5000"],
        ["F1", "predictions", "0.5000"],
    ]
    assert "[0.0000, 1.0000]" in done.out
    about = json.loads(Path("predictions.jsonl.config.json").read_text(encoding="utf-8"))
    assert about | {"seconds": 0, "cpu_seconds": 0, "threads": 1, "passages": ""} == {
        **{"topics": "topics.tsv", "reader": "prompt", "model": "smollm2-135m", "quote": False},
        **{"contexts": 2, "batch_size": 8, "threads": 1, "device": None, "dtype": "float32"},
        **{"run": "run.trec", "passages": "", "n_topics": 2, "seconds": 0, "cpu_seconds": 0},
    }


def test_the_same_figures_come_from_eval(read: Read, titles: TitleReader, call: Runner) -> None:
    done = read("--run", "run.trec", "--answers", "answers.jsonl")
    measured = call(
        *(evaluate, "--predictions", "predictions.jsonl", "--topics", "topics.tsv"),
        *("--answers", "answers.jsonl"),
    )
    assert done.out == f"predictions.jsonl\n{measured.out}"


def test_two_files_of_answers_are_compared(read: Read, titles: TitleReader, call: Runner) -> None:
    read("--run", "run.trec")
    read("--run", "run.trec", "--output", "other.jsonl")
    compared = call(
        *(evaluate, "--predictions", "predictions.jsonl", "other.jsonl", "--topics", "topics.tsv"),
        *("--answers", "answers.jsonl", "--baseline", "other"),
    )
    assert compared.code == 0, compared.err
    (line,) = [line for line in compared.out.splitlines() if line.startswith("EM       predictions")]
    assert line.split()[-3:] == ["1.0000", "1.0000", "0/2/0"]  # p, Holm's, wins and losses
    assert "+0.0000" in line


def test_weights_that_are_not_here_are_fetched_where_that_is_agreed_to(
    read: Read, titles: TitleReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, bool]] = []
    monkeypatch.setattr(command, "lacks_weights", lambda name: True)
    monkeypatch.setattr(command, "ensure_weights", lambda name, yes: asked.append((name, yes)))
    assert read("--run", "run.trec", "--yes").code == 0
    assert asked == [("smollm2-135m", True)]


def test_without_a_run_the_index_is_searched(
    read: Read, titles: TitleReader, stubbed: object, tiny_index: Path
) -> None:
    done = read("--output", "out/answers.jsonl", "--hits", 3, "--preset", "paper")
    assert done.code == 0, done.err
    assert done.out.splitlines() == ["out/answers.trec", "out/answers.jsonl"]
    assert "not measured: these topics have no answers; give them with --answers" in done.err
    run = Path("out/answers.trec").read_text(encoding="utf-8").splitlines()
    assert len(run) == 6
    best = {line.split()[0]: line.split()[2] for line in reversed(run)}
    known = {document.id: document.title for document in tiny.DOCUMENTS}
    answers = {p.qid: p.answer.text for p in iter_predictions(Path("out/answers.jsonl"))}
    assert answers == {qid: known[docid] for qid, docid in best.items()}


def test_more_passages_than_hits_are_searched_for(read: Read, titles: TitleReader, stubbed: object) -> None:
    assert read("--hits", 1, "--contexts", 2, "--preset", "paper").code == 0
    assert titles.seen == [("who", 2), ("where", 2)]


def test_passages_out_of_a_collection(read: Read, titles: TitleReader) -> None:
    records = [{"id": d.id, "title": d.title, "text": d.text} for d in tiny.DOCUMENTS]
    Path("corpus.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in records), encoding="utf-8")
    done = read("--run", "run.trec", "--input", "corpus.jsonl", index=False)
    assert done.code == 0, done.err
    assert [p.answer.text for p in iter_predictions(Path("predictions.jsonl"))] == ["London", "Tokyo"]


def test_answers_to_a_stream_are_not_measured(read: Read, titles: TitleReader) -> None:
    done = read("--run", "run.trec", "--answers", "answers.jsonl", "--output", "-")
    assert [json.loads(line)["answer"] for line in done.out.splitlines()] == ["London", "Tokyo"]
    assert "not measured: the answers went to a stream; give --output a file" in done.err


def test_a_model_of_random_weights_reads(read: Read, long_llama: Path) -> None:
    """The whole way with a network; bound, it quotes what it was given."""
    options = ["--run", "run.trec", "--reader", long_llama, "--quote", "--contexts", 1]
    done = read(*options)
    assert done.code == 0, done.err
    contents = {d.id: f"{d.title}\n{d.text}" for d in tiny.DOCUMENTS}
    found = list(iter_predictions(Path("predictions.jsonl")))
    assert [p.answer.citations[0].docid for p in found] == ["d2", "d4"]
    assert all(c.text == contents[c.docid][c.start : c.end] for p in found for c in p.answer.citations)
    assert read(*options, "--output", "again.jsonl").code == 0
    assert Path("again.jsonl").read_bytes() == Path("predictions.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--run", "run.trec", "--contexts", 0], 2, "--contexts is 0"),
        (["--run", "run.trec", "--input", "c.jsonl"], 2, "give --index or --input, not both"),
        (["--output", "a.trec"], 2, "--output a.trec: the run of the search goes there; name the answers"),
        (["--run", "empty.trec", "--output", "./empty.trec"], 2, "--run empty.trec: would be written over"),
        (["--output", "-"], 2, "a search writes its run beside --output, which is a stream"),
        (["--run", "run.trec", "--reader", "fid"], 2, "--reader fid names no model"),
        (["--run", "run.trec", "--reader", "./nowhere"], 1, "'./nowhere': no such model folder"),
        (["--run", "nowhere.trec"], 1, "nowhere.trec: "),
        (["--run", "run.trec", "--answers", "nowhere"], 1, "answers 'nowhere': no such file"),
        (["--run", "run.trec", "--answers", "other.jsonl"], 1, "other.jsonl: 0 of 2 topics have answers"),
        (["--run", "empty.trec"], 1, "empty.trec: the run is empty; there is nothing to read"),
        (["--run", "absent.trec"], 1, "absent.trec: 1 of its 1 passages, such as 'x9', are not in "),
    ],
)
def test_what_is_refused_leaves_nothing(
    read: Read, titles: TitleReader, options: list[object], code: int, told: str
) -> None:
    Path("empty.trec").write_text("", encoding="utf-8")
    Path("absent.trec").write_text("q1 Q0 x9 1 2 t\n", encoding="utf-8")
    Path("other.jsonl").write_text('{"qid": "z", "answers": ["London"]}\n', encoding="utf-8")
    assert_fault(read(*options), code, told)
    assert not Path("predictions.jsonl").exists()
    assert not titles.seen


def test_a_collection_alone_is_not_searched(read: Read, titles: TitleReader) -> None:
    assert_fault(read("--input", "c.jsonl", index=False), 2, "--input has passages of a run; name that with")


def test_a_question_that_does_not_fit_leaves_nothing(read: Read, llama: Path, call: Runner) -> None:
    Path("long.tsv").write_text(f"q1\t{'who ' * 600}\n", encoding="utf-8")
    done = read("--run", "run.trec", "--reader", llama, "--topics", "long.tsv")
    assert_fault(done, 1, "question 'who who", "the model has room for 480; shorten it")
    assert not Path("predictions.jsonl").exists()
