"""Commands with pipes for files, and with stdout for a file: the same results as with files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seal_ir.convert.__main__ import main as formats
from seal_ir.encode.__main__ import main as encode
from seal_ir.eval.__main__ import main as evaluate
from seal_ir.index.__main__ import main as index
from seal_ir.keys.files import provenance_file
from seal_ir.search.__main__ import main as search
from seal_ir.train.__main__ import main as train
from tests.helpers import tiny
from tests.helpers.commands import Main, Runner, assert_fault, spawn
from tests.helpers.piping import Piped, pipes
from tests.helpers.stubbed import Stubbed

PAD = " " * 70_000  # beyond what a pipe holds
TOPICS = "q1\tthe highest mountain\nq2\twhich river flows through London\n"
FILES = {
    "topics.tsv": TOPICS,
    "run.trec": "q1 Q0 d3#0 1 2.5 t\nq2 Q0 d1 1 2.5 t\nq2 Q0 d2 2 1.5 t\n",
    "qrels.trec": "q1 0 d3#0 1\nq2 0 d2 1\n",
    "gold.jsonl": '{"id": "q1", "input": "a", "output": [{"provenance": [{"wikipedia_id": "d3#0"}]}]}\n',
    "answers.jsonl": '{"qid": "q1", "answers": ["Everest"]}\n{"qid": "q2", "answers": ["Thames"]}\n',
    "overlap.jsonl": '{"id": "q1", "labels": ["question_overlap"]}\n',
    "documents.jsonl": "".join(
        json.dumps({"id": d.id, "title": d.title, "contents": d.text}) + "\n" for d in tiny.DOCUMENTS
    ),
    "ids.txt": "d1\nd3#1\nd2\n",
    "settings.toml": "[rank]\nbeta = 0.5\n",
    "pairs.jsonl": '{"question": "the highest mountain", "positive_ids": ["d3#0"]}\n',
    "dpr.json": json.dumps([{"question": "q", "positive_ctxs": [{"title": "W", "text": "A whale is big."}]}]),
    "kilt.jsonl": '{"id": "k", "input": "where", "output": [{"provenance": [{"wikipedia_id": "9"}]}]}\n',
    "predictions.jsonl": '{"qid": "q1", "answer": "Everest"}\n{"qid": "q2", "answer": "Seine"}\n',
    "guess.jsonl": '{"id": "k", "input": "where", "output": [{"answer": "sea", "provenance": []}]}\n',
    "pages.jsonl": '{"wikipedia_id": "9", "wikipedia_title": "W", "text": ["W", "Whales swim."]}\n',
}
# The command, its words (names of FILES, OUT for a result), and which of them are pipes.
CASES: list[tuple[Main, str, str]] = [
    (evaluate, "--run run.trec --qrels qrels.trec --format json", "run.trec qrels.trec"),
    (evaluate, "--run run.trec --qrels gold.jsonl --measures KiltRprec --format json", "run.trec gold.jsonl"),
    (
        evaluate,
        "--run run.trec --topics topics.tsv --answers answers.jsonl --input documents.jsonl"
        " --overlap overlap.jsonl --format json",
        "run.trec topics.tsv answers.jsonl documents.jsonl overlap.jsonl",
    ),
    (
        evaluate,
        "--run run.trec --predictions predictions.jsonl --answers answers.jsonl --qrels gold.jsonl"
        " --measures EM KiltEM --format json",
        "run.trec predictions.jsonl answers.jsonl gold.jsonl",
    ),
    (
        search,
        "--topics topics.tsv --index INDEX --fuse run.trec --config settings.toml --output OUT --tag t",
        "topics.tsv run.trec settings.toml",
    ),
    (
        search,
        "--topics gold.jsonl --index INDEX --output OUT --output-format kilt --tag t",
        "gold.jsonl",
    ),
    (
        encode,
        "input --corpus topics.tsv output --embeddings OUT encoder --index INDEX",
        "topics.tsv",
    ),
    (
        index,
        "--input documents.jsonl --include-ids ids.txt --index OUT --model MODEL --duplicates last",
        "documents.jsonl ids.txt",
    ),
    (formats, "overlap --input overlap.jsonl --output OUT", "overlap.jsonl"),
    (
        formats,
        "passages --input documents.jsonl --split words:2 --malformed skip --output OUT",
        "documents.jsonl",
    ),
    (
        formats,
        "kilt-passages --gold kilt.jsonl --knowledge-source pages.jsonl --output OUT",
        "kilt.jsonl pages.jsonl",
    ),
    (
        formats,
        "kilt-predictions --topics kilt.jsonl --run guess.jsonl --output OUT",
        "kilt.jsonl guess.jsonl",
    ),
    (
        formats,
        "kilt-predictions --topics topics.tsv --run run.trec --predictions predictions.jsonl --output OUT",
        "topics.tsv run.trec predictions.jsonl",
    ),
    (
        formats,
        "kilt-questions --gold kilt.jsonl --questions topics.tsv --output OUT",
        "kilt.jsonl topics.tsv",
    ),
    (
        train,
        "data --pairs pairs.jsonl dpr.json kilt.jsonl --judged topics.tsv qrels.trec --input documents.jsonl"
        " --knowledge-source pages.jsonl --unsupervised --output OUT",
        "pairs.jsonl dpr.json kilt.jsonl topics.tsv qrels.trec documents.jsonl pages.jsonl",
    ),
]


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Piped]:
    with pipes(tmp_path) as make:
        yield make


@pytest.fixture
def folder(tmp_path: Path, tiny_index: Path) -> Path:
    place = tmp_path / "files"
    place.mkdir()
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "MODEL").mkdir()
    (place / "MODEL" / "tokenizer.json").write_text(tiny.definition(), encoding="utf-8")
    (place / "INDEX").symlink_to(tiny_index)
    return place


def words(command: str, places: dict[str, Path]) -> list[object]:
    return [places.get(word, word) for word in command.split()]


def contents(path: Path) -> dict[str, bytes]:
    """Files of a result by name; without those that hold times or the names of their sources."""
    found = sorted(other for other in path.parent.rglob("*") if other.is_file())
    passing = (".config.json", "index.json", "settings.json")
    return {
        str(file.relative_to(path.parent)): file.read_bytes()
        for file in found
        if not file.name.endswith(passing)
    }


@pytest.mark.slow
@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize("how", ["fifo", "fd"])
@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{i} {CASES[i][1].split()[0]}")
def test_i2_every_file_of_a_command_may_be_a_pipe(
    call: Runner, folder: Path, piped: Piped, tmp_path: Path, case: int, size: str, how: str
) -> None:
    main, command, special = CASES[case]
    if size == "large":
        for name in special.split():
            text = (folder / name).read_text(encoding="utf-8")
            blank = (PAD[:999] if name != "settings.toml" else "#" * 999) + "\n"
            (folder / name).write_text(text + blank * 70, encoding="utf-8")
    files = {path.name: path for path in folder.iterdir()}
    for place in ("with", "without"):
        (tmp_path / place).mkdir()
    expected = call(main, *words(command, {**files, "OUT": tmp_path / "without" / "out"}))
    assert expected.code == 0, expected.err
    replaced = {name: piped(files[name].read_bytes(), how) for name in special.split()}
    found = call(main, *words(command, {**files, **replaced, "OUT": tmp_path / "with" / "out"}))
    assert found.code == 0, found.err
    assert contents(tmp_path / "with" / "out") == contents(tmp_path / "without" / "out")
    if main is evaluate:
        rows, expected_rows = (json.loads(result.out)["rows"] for result in (found, expected))
        assert rows
        assert [_unnamed(row) for row in rows] == [_unnamed(row) for row in expected_rows]


def _unnamed(row: dict[str, object]) -> dict[str, object]:
    """A figure without the names of its files."""
    return {name: value for name, value in row.items() if name not in ("system", "topics")}


@pytest.mark.usefixtures("stubbed")
def test_settings_from_a_pipe_are_those_of_every_preset(
    call: Runner, folder: Path, piped: Piped, tmp_path: Path
) -> None:
    text = b"[rank]\nalpha = 0.5\nmax_count = 2\n"
    (folder / "settings.toml").write_bytes(text)
    common = ["--topics", folder / "topics.tsv", "--index", folder / "INDEX", "--preset", "lm-fm", "paper"]
    for name, settings in (("file", folder / "settings.toml"), ("pipe", piped(text, "fifo"))):
        result = call(search, *common, "--config", settings, "--output", tmp_path / name / "run.trec")
        assert result.code == 0, result.err
    assert contents(tmp_path / "pipe" / "run.trec") == contents(tmp_path / "file" / "run.trec")
    made = json.loads((tmp_path / "pipe" / "run.paper.trec.config.json").read_text(encoding="utf-8"))
    assert (made["rank"]["alpha"], made["rank"]["max_count"]) == (0.5, 2)


def test_a_training_set_knows_the_content_of_its_pipes(call: Runner, piped: Piped, tmp_path: Path) -> None:
    """Their names say nothing: other content of the same length is another set."""
    first, second = (
        json.dumps([{"question": "q", "positive_ctxs": [{"title": "W", "text": text}]}]).encode()
        for text in ("A whale is big.", "A mouse is wee.")
    )
    words = ["data", "--output", tmp_path / "set", "--pairs"]
    assert call(train, *words, piped(first, "fd")).code == 0
    again = call(train, *words, piped(first, "fifo"))
    assert (again.code, "complete already" in again.err) == (0, True)
    assert_fault(
        call(train, *words, piped(second, "fd")), 2, "holds a training set of other settings or inputs"
    )


@pytest.mark.parametrize("size", [3, 5000])
def test_eval_of_a_pipe_loses_nothing(call: Runner, folder: Path, piped: Piped, size: int) -> None:
    run = "".join(f"t{i} Q0 d{i} 1 1 tag\n" for i in range(size)).encode()
    (folder / "qrels").write_text("".join(f"t{i} 0 d{i} 1\n" for i in range(size)))
    result = call(evaluate, "--run", piped(run, "fd"), "--qrels", folder / "qrels", "--measures", "Success@1")
    assert result.code == 0, result.err
    assert f"{size} judged, {size} in run, 0 missing" in result.err
    assert "1.0000" in result.out


def test_eval_looks_into_the_texts_of_a_pipe(call: Runner, folder: Path, piped: Piped) -> None:
    """They are looked for before the run is read, and once more by the measures."""
    run = [{"id": "t", "question": "?", "ctxs": [{"id": "d", "text": "by the Seine"}]}]
    (folder / "answers").write_text('{"qid": "t", "answers": ["Seine"]}\n')
    source = piped(json.dumps(run).encode(), "fd")
    result = call(
        *(evaluate, "--run", source, "--answers", folder / "answers", "--measures", "AnswerAccuracy@1")
    )
    assert result.code == 0, result.err
    assert "1.0000" in result.out


def test_keys_may_come_through_a_pipe_with_their_description_beside(
    call: Runner, stubbed: Stubbed, folder: Path, piped: Piped, tiny_index: Path, tmp_path: Path
) -> None:
    rest = ["encoder", "--index", tiny_index]
    topics, keys = folder / "topics.tsv", tmp_path / "keys.jsonl"
    assert call(encode, "input", "--corpus", topics, "output", "--embeddings", keys, *rest).code == 0
    pipe = piped(keys.read_bytes(), "fifo")
    common = ["--topics", topics, "--index", tiny_index]
    result = call(search, *common, "--keys", pipe, "--output", tmp_path / "no.trec")
    assert_fault(result, 1, f"{pipe}.config.json: missing")
    shutil.copy(provenance_file(keys), provenance_file(pipe))
    assert call(search, *common, "--keys", pipe, "--output", tmp_path / "pipe.trec").code == 0
    assert call(search, *common, "--keys", keys, "--output", tmp_path / "file.trec").code == 0
    assert (tmp_path / "pipe.trec").read_bytes() == (tmp_path / "file.trec").read_bytes()


@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize(
    ("main", "command"),
    [
        (search, "--topics topics.tsv --index INDEX --output OUT"),
        (search, "--topics topics.tsv --index INDEX --output OUT --fuse run.trec"),
        (search, "--topics gold.jsonl --index INDEX --output OUT --output-format kilt"),
        (encode, "input --corpus topics.tsv output --embeddings OUT encoder --index INDEX"),
        (evaluate, "--run run.trec --qrels qrels.trec --output OUT"),
    ],
)
def test_i2_a_dash_is_stdout(
    call: Runner, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: Main, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {path.name: path for path in folder.iterdir()}
    before = set(tmp_path.iterdir())
    found = call(main, *words(command, {**files, "OUT": Path("-")}))
    assert found.code == 0, found.err
    assert set(tmp_path.iterdir()) == before
    out = tmp_path / "out.jsonl"
    assert call(main, *words(command, {**files, "OUT": out})).code == 0
    assert found.out == out.read_text(encoding="utf-8")
    assert found.out


@pytest.mark.slow
def test_a_dash_is_stdout_of_a_process(folder: Path) -> None:
    arguments = ["--run", folder / "run.trec", "--qrels", folder / "qrels.trec", "--output", "-"]
    result = spawn("seal_ir.eval", *arguments)
    assert result.code == 0, result.err
    assert json.loads(result.out)["systems"]
    assert "Rprec" in result.err


@pytest.mark.parametrize(
    ("main", "command", "code", "fault"),
    [
        (search, "--topics topics.tsv --index INDEX --output - --preset lm paper", 2, "takes one run"),
        (formats, "overlap --input overlap.jsonl --output -", 2, "stdout takes one file"),
        (formats, "nq320k --train pairs.jsonl --dev pairs.jsonl --output -", 2, "stdout takes one file"),
        (train, "data --input documents.jsonl --output -", 2, "stdout takes one file"),
        (index, "--input documents.jsonl --index - --model MODEL", 2, "stdout takes one file"),
        (evaluate, "--run run.trec --qrels qrels.trec --baseline run --deltas -", 2, "must end in"),
    ],
)
@pytest.mark.usefixtures("stubbed")
def test_stdout_takes_one_file(
    call: Runner,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    main: Main,
    command: str,
    code: int,
    fault: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {path.name: path for path in folder.iterdir()}
    before = set(tmp_path.iterdir())
    assert_fault(call(main, *words(command, files)), code, fault)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("main", "command"),
    [
        (search, "--topics topics.tsv --index INDEX --output /nodir/x.trec"),
        (search, "--topics topics.tsv --index INDEX --output /nodir/deep/er/x.trec"),
        (encode, "input --corpus topics.tsv output --embeddings /nodir/keys encoder --index INDEX"),
        (evaluate, "--run run.trec --qrels qrels.trec --output /nodir/x.json"),
        (evaluate, "--run run.trec run.trec --qrels qrels.trec --baseline run.trec --deltas /nodir/x.tsv"),
        (index, "--input documents.jsonl --index /nodir/index --model MODEL"),
        (formats, "overlap --input overlap.jsonl --output /nodir/x"),
        (formats, "nq320k --train pairs.jsonl --dev pairs.jsonl --output /nodir/x"),
        (train, "data --input documents.jsonl --output /nodir/set"),
        (train, "convert --checkpoint pairs.jsonl --tokenizer MODEL --output /nodir/model"),
    ],
)
@pytest.mark.usefixtures("stubbed")
def test_i17_the_first_folder_of_a_path_is_never_made(
    call: Runner, folder: Path, main: Main, command: str
) -> None:
    assert not Path("/nodir").exists()
    files = {path.name: path for path in folder.iterdir()}
    if "--baseline" in command:
        command = command.replace("--run run.trec run.trec", f"--run run.trec {folder / 'topics.tsv'}")
        shutil.copy(folder / "run.trec", folder / "topics.tsv")
        command = command.replace("--baseline run.trec", "--baseline run")
    assert_fault(call(main, *words(command, files)), 2, "there is no folder /nodir; make it")
    assert not Path("/nodir").exists()
