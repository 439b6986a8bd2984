"""Our figures against the installed Pyserini's evaluation scripts, and ir_measures, on the same files."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from seal_ir.errors import InputError
from seal_ir.eval.__main__ import main

needs_pyserini = pytest.mark.skipif(
    find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"
)
needs_data = pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")

KILT_NAMES = {"Rprec": "KiltRprec"}
KILT_NAMES |= {f"precision@{k}": f"KiltP@{k}" for k in (1, 5, 10, 20)}
KILT_NAMES |= {f"recall@{k}": f"KiltR@{k}" for k in (5, 10, 20)}
KILT_NAMES |= {f"success_rate@{k}": f"KiltSuccess@{k}" for k in (5, 10, 20)}

# One JVM for several calls of one command of Pyserini's; stdout of each as JSON.
DRIVER = """
import contextlib, io, json, sys
from seal_ir.pyserini_plugin import main
said = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        main(arguments)
    said.append(stream.getvalue())
print(json.dumps(said))
"""


def run_python(*arguments: object, cwd: Path | None = None) -> str:
    """Stdout of a Python that ends well."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def figures(folder: Path, *arguments: object) -> dict[str, float]:
    """Our figures of one run, unrounded, by measure."""
    output = folder / "figures.json"
    assert main([str(argument) for argument in (*arguments, "--output", output)]) == 0
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    return {row["measure"]: row["value"] for row in rows}


def write_lines(path: Path, records: Sequence[object]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


# ir_measures


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_ir_measures(tmp_path: Path, seed: int) -> None:
    """Ties, negative scores and topics without results, on files that both programs read by themselves."""
    draw = random.Random(seed)
    docids = [f"d{i}" for i in range(25)]
    run = [
        f"{qid} Q0 {docid} 0 {draw.choice([1.0, -2.5, -0.25, 0.1, draw.gauss(-3, 2)])} t\n"
        for qid in range(12)
        for docid in draw.sample(docids, draw.randint(1, 25))
    ]
    qrels = [
        f"{qid} 0 {docid} {draw.choice([0, 1, 2])}\n"
        for qid in range(4, 17)
        for docid in draw.sample(docids, 6)
    ]
    run_path, qrels_path = tmp_path / "run.trec", tmp_path / "qrels.trec"
    run_path.write_text("".join(run), encoding="utf-8")
    qrels_path.write_text("".join(qrels), encoding="utf-8")
    names = ["Success@1", "Success@10", "Rprec", "RR", "AP", "nDCG@10", "P@5", "R@10"]
    theirs = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(name) for name in names],
        list(ir_measures.read_trec_qrels(str(qrels_path))),
        list(ir_measures.read_trec_run(str(run_path))),
    )
    ours = figures(tmp_path, "--run", run_path, "--qrels", qrels_path, "--measures", *names)
    assert ours == pytest.approx({str(measure): value for measure, value in theirs.items()}, abs=1e-12)


# DPR's accuracy

WORDS = ["café", "cafe", "Paris", "1953", "May", "U.S.", "ice", "cream", "Ωmega", "naïve"]


def dpr_files(folder: Path, seed: int) -> tuple[list[object], dict[str, Any]]:
    """Arguments for our command, and Pyserini's file of the same ranking: trec_eval's order, ties and all."""
    draw = random.Random(seed)
    bodies = {f"p{i}": " ".join(draw.choices(WORDS, k=6)) for i in range(40)}
    questions = {str(i): [" ".join(draw.choices(WORDS, k=2)) for _ in range(2)] for i in range(30)}
    corpus = [{"id": docid, "title": "café Paris", "text": body} for docid, body in bodies.items()]
    topics, run = folder / "topics.tsv", folder / "run.trec"
    retrieval: dict[str, Any] = {}
    lines: list[str] = []
    for qid, answers in questions.items():
        scores = {
            docid: draw.choice([-1.5, -0.5, 2.0, draw.gauss(0, 1)]) for docid in draw.sample([*bodies], 8)
        }
        if int(qid) % 5 == 0:
            scores = {}  # no results
        ranked = sorted(scores, key=lambda docid: (scores[docid], docid), reverse=True)
        lines += [f"{qid} Q0 {docid} 1 {score} t\n" for docid, score in scores.items()]
        contexts = [{"docid": docid, "score": 0, "text": f"café Paris\n{bodies[docid]}"} for docid in ranked]
        retrieval[qid] = {"question": "q", "answers": answers, "contexts": contexts}
    topics.write_text("".join(f"{qid}\tq\n" for qid in questions), encoding="utf-8")
    run.write_text("".join(lines), encoding="utf-8")
    answers_path = write_lines(
        folder / "answers.jsonl", [{"qid": qid, "answers": values} for qid, values in questions.items()]
    )
    corpus_path = write_lines(folder / "corpus.jsonl", corpus)
    arguments = ["--run", run, "--topics", topics, "--answers", answers_path, "--input", corpus_path]
    return arguments, retrieval


def pyserini_accuracy(folder: Path, retrieval: dict[str, Any]) -> dict[str, float]:
    """What `pyserini.eval.evaluate_dpr_retrieval` prints, as our measures."""
    path = folder / "retrieval.json"
    path.write_text(json.dumps(retrieval), encoding="utf-8")
    said = run_python(
        "-m", "pyserini.eval.evaluate_dpr_retrieval", "--retrieval", path, "--topk", "1", "3", "8"
    )
    lines = [line.split() for line in said.splitlines() if line.startswith("Top")]
    return {f"AnswerAccuracy@{line[0].removeprefix('Top')}": float(line[2]) for line in lines}


@needs_pyserini
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_dpr_accuracy(tmp_path: Path, seed: int) -> None:
    arguments, retrieval = dpr_files(tmp_path, seed)
    names = ["AnswerAccuracy@1", "AnswerAccuracy@3", "AnswerAccuracy@8"]
    ours = figures(tmp_path, *arguments, "--measures", *names)
    assert 0 < ours["AnswerAccuracy@1"] < ours["AnswerAccuracy@8"] < 1
    assert pyserini_accuracy(tmp_path, retrieval) == pytest.approx(ours, abs=1e-4)  # it prints four decimals
    present = {qid: record for qid, record in retrieval.items() if record["contexts"]}
    share = len(present) / len(retrieval)  # Pyserini divides by the questions that are in the file
    theirs = pyserini_accuracy(tmp_path, present)
    assert {name: value * share for name, value in theirs.items()} == pytest.approx(ours, abs=1e-4)


def test_a_document_twice_is_refused(tmp_path: Path) -> None:
    """Pyserini's scripts would count it twice; trec_eval refuses it, and so do we."""
    arguments, _ = dpr_files(tmp_path, 0)
    run = tmp_path / "run.trec"
    line = run.read_text(encoding="utf-8").splitlines()[0]
    run.write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"run\.trec:2: document 'p[0-9]+' comes twice for topic"):
        figures(tmp_path, *arguments, "--measures", "AnswerAccuracy@1")


# KILT


def pyserini_kilt(calls: Sequence[Sequence[object]]) -> list[dict[str, float]]:
    """What `pyserini.eval.evaluate_kilt_retrieval` prints for each list of arguments, as our measures."""
    commands = [["pyserini.eval.evaluate_kilt_retrieval", *map(str, call)] for call in calls]
    found = []
    for said in json.loads(run_python("-c", DRIVER, json.dumps(commands)).splitlines()[-1]):
        pairs = ast.literal_eval(said.strip().removeprefix("OrderedDict(").removesuffix(")"))
        found.append({KILT_NAMES[name]: value for name, value in pairs})
    return found


def our_kilt(folder: Path, guess: Path, gold: Path, *names: str) -> dict[str, float]:
    return figures(folder, "--run", guess, "--qrels", gold, "--measures", *(names or KILT_NAMES.values()))


def datapoint(qid: str, outputs: list[list[tuple[str, int]]]) -> dict[str, Any]:
    """Outputs whose evidence is paragraphs: page and number."""
    return {
        "id": qid,
        "input": "q",
        "output": [
            {"provenance": [{"wikipedia_id": page, "start_paragraph_id": n} for page, n in output]}
            for output in outputs
        ],
    }


def with_passage_ids(path: Path, target: Path) -> Path:
    """The datapoints with paragraphs for pages: `page+number`, as KILT joins its rank keys."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        for output in record["output"]:
            for entry in output.get("provenance", []):
                entry["wikipedia_id"] = f"{entry['wikipedia_id']}+{entry['start_paragraph_id']}"
    return write_lines(target, records)


def guesses(gold: Sequence[dict[str, Any]], draw: random.Random) -> list[dict[str, Any]]:
    """Gold paragraphs, left out, moved and repeated, among noise; one topic in ten has none."""
    found = []
    for record in gold:
        entries = [
            (entry["wikipedia_id"], entry["start_paragraph_id"])
            for output in record["output"]
            for entry in output.get("provenance", [])
        ]
        kept = [entry for entry in entries if draw.random() < 0.7]
        kept += [(page, n + draw.randint(0, 2)) for page, n in entries if draw.random() < 0.3]
        kept += [(f"noise{draw.randint(0, 99)}", draw.randint(1, 9)) for _ in range(draw.randint(0, 25))]
        draw.shuffle(kept)
        found.append(datapoint(record["id"], [kept if draw.random() < 0.9 else []]))
    return found


def random_gold(draw: random.Random) -> list[dict[str, Any]]:
    """Topics with several sets, alike, nested and overlapping; some outputs have an answer only."""
    gold = []
    for number in range(400):
        paragraphs = [(f"{page}", n) for page in range(1, 6) for n in (1, 2)]
        sets = [draw.sample(paragraphs, draw.randint(1, 4)) for _ in range(draw.randint(1, 5))]
        record = datapoint(f"q{number}", [*sets, *draw.sample(sets, draw.randint(0, 1))])
        record["output"].insert(draw.randint(0, 1), {"answer": "x"})
        gold.append(record)
    return gold


@needs_pyserini
@pytest.mark.slow
def test_kilt_on_random_sets(tmp_path: Path) -> None:
    """Pages and paragraphs, duplicates and topics without hits, in one run each."""
    draw = random.Random(7)
    records = random_gold(draw)
    gold = write_lines(tmp_path / "gold.jsonl", records)
    guess = write_lines(tmp_path / "guess.jsonl", guesses(records, draw))
    keys = "wikipedia_id,start_paragraph_id"
    pages, passages = pyserini_kilt([[guess, gold], [guess, gold, "--rank_keys", keys]])
    assert our_kilt(tmp_path, guess, gold) == pytest.approx(pages, abs=1e-9)
    own = [with_passage_ids(path, tmp_path / f"own.{path.name}") for path in (guess, gold)]
    assert our_kilt(tmp_path, *own) == pytest.approx(passages, abs=1e-9)
    assert pages["KiltRprec"] != passages["KiltRprec"]
    assert all(0 < value < 1 for value in (*pages.values(), *passages.values()))


@needs_pyserini
@needs_data
@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "n_topics"), [("hotpotqa", 5600), ("wow", 3054)])
def test_kilt_on_complete_dev_files(tmp_path: Path, name: str, n_topics: int) -> None:
    """A made-up run on KILT's own files; with one output a topic its R-precision is trec_eval's as well."""
    gold = Path(os.environ["SEAL_IR_DATA"]) / "kilt" / f"{name}-dev-kilt.jsonl"
    records = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    assert len(records) == n_topics
    guess = write_lines(tmp_path / "guess.jsonl", guesses(records, random.Random(11)))
    (pages,) = pyserini_kilt([[guess, gold]])
    ours = our_kilt(tmp_path, guess, gold, *KILT_NAMES.values(), "Rprec")
    assert ours.pop("Rprec") == pytest.approx(pages["KiltRprec"], abs=1e-9)
    assert ours == pytest.approx(pages, abs=1e-9)


# Overlap with training questions

OVERLAP_DRIVER = """
import sys
from pyserini.eval.evaluate_qa_overlap_retrieval import evaluate_retrieval
evaluate_retrieval("retrieval.json", [1, 3, 8], "data/nq-annotations.jsonl")
"""


@needs_pyserini
@pytest.mark.slow
def test_accuracy_by_overlap(tmp_path: Path) -> None:
    """Pyserini's script fetches annotations unless the working folder has some."""
    arguments, retrieval = dpr_files(tmp_path, 3)
    draw = random.Random(5)
    (tmp_path / "data").mkdir()
    annotations = []
    for qid in retrieval:
        answer = draw.choice(["answer_overlap", "no_answer_overlap"])
        question = draw.choice(["question_overlap", "no_question_overlap", ""])
        only = ["answer_overlap_only"] * ((answer, question) == ("answer_overlap", "no_question_overlap"))
        labels = [answer, *[question][: len(question)], *only]
        annotations.append({"id": int(qid), "labels": labels})
    path = write_lines(tmp_path / "data" / "nq-annotations.jsonl", annotations)
    (tmp_path / "retrieval.json").write_text(json.dumps(retrieval), encoding="utf-8")
    said = run_python("-c", OVERLAP_DRIVER, cwd=tmp_path)
    theirs = {}
    for line in said.splitlines():
        head, _, value, label = line.split()
        topics = "topics.tsv" if label == "total" else f"topics.tsv: {label.replace('_', ' ')}"
        theirs[topics, f"AnswerAccuracy@{head.removeprefix('Top')}"] = float(value)
    output = tmp_path / "overlap.json"
    names = ["AnswerAccuracy@1", "AnswerAccuracy@3", "AnswerAccuracy@8"]
    options = [*arguments, "--measures", *names, "--overlap", path, "--output", output]
    assert main([str(option) for option in options]) == 0
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert {(row["topics"], row["measure"]): row["value"] for row in rows} == pytest.approx(theirs)
    assert len(theirs) == 3 * 7
