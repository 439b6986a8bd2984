"""Our figures against trec_eval's own code, by way of pytrec_eval, on run files with ties and odd lines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import pytrec_eval

from seal_ir.eval.evaluation import evaluate
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions
from seal_ir.formats.runs.trec import read_qrels

NAMES = {
    "Success@1": "success_1",
    "Success@10": "success_10",
    "Rprec": "Rprec",
    "RR": "recip_rank",
    "AP": "map",
    "AP@5": "map_cut_5",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "P@5": "P_5",
    "R@10": "recall_10",
    "R@100": "recall_100",
    "Bpref": "bpref",
    "IPrec@0.1": "iprec_at_recall_0.10",
}
DOCIDS = [*(f"d{i}" for i in range(30)), "D1", "Ünï#1", "東京", "d_1", "z\U0001f600", "z\uffee"]


def random_files(folder: Path, seed: int) -> tuple[Path, Path]:
    """A run and judgements with ties, ties in single precision only, negative scores, tabs and CRLF."""
    draw = random.Random(seed)
    blank, end = draw.choice([(" ", "\n"), ("\t", "\n"), ("  ", "\r\n")])
    run, qrels = [], []
    for qid in draw.sample(range(20), 12):
        for docid in draw.sample(DOCIDS, draw.randint(1, len(DOCIDS))):
            score = draw.choice([1.0, 2.5, -3.25, 0.1, 0.1 + 1e-10, 16777216, 16777217, draw.gauss(0, 9)])
            run.append(blank.join([str(qid), "Q0", docid, "0", repr(score), "tag"]))
    draw.shuffle(run)
    for qid in draw.sample(range(20), 12):
        for docid in draw.sample(DOCIDS, draw.randint(1, 12)):
            qrels.append(blank.join([str(qid), "0", docid, str(draw.choice([0, 0, 1, 2]))]))
    paths = folder / "run.trec", folder / "qrels.trec"
    for path, lines in zip(paths, (run, qrels), strict=True):
        path.write_bytes("".join(line + end for line in lines).encode())
    return paths


@pytest.mark.parametrize("seed", range(20))
def test_equal_to_trec_eval(tmp_path: Path, seed: int) -> None:
    run_path, qrels_path = random_files(tmp_path, seed)
    with run_path.open(encoding="utf-8") as run, qrels_path.open(encoding="utf-8") as qrels:
        their_run, their_qrels = pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels)
    measures = {name.rsplit("_", 1)[0] if name.startswith("iprec") else name for name in NAMES.values()}
    theirs = pytrec_eval.RelevanceEvaluator(their_qrels, measures).evaluate(their_run)
    ours = read_qrels(qrels_path)
    table = evaluate([run_path], Questions("t", list(ours), None, ours), parse_measures(NAMES))
    assert sum(qid not in theirs for qid in ours) > 0  # topics without results
    for name, their_name in NAMES.items():
        values = table.results[0].values[name]
        expected = {qid: theirs[qid][their_name] if qid in theirs else 0.0 for qid in ours}
        assert values == pytest.approx(expected, abs=1e-12)
        assert table.results[0].figures[name] == pytest.approx(sum(expected.values()) / len(ours))


@pytest.mark.parametrize("seed", range(3))
def test_cut_reciprocal_rank_follows_the_same_order(tmp_path: Path, seed: int) -> None:
    """RR@k comes from another program than RR, which must break ties no other way."""
    run_path, qrels_path = random_files(tmp_path, seed)
    qrels = read_qrels(qrels_path)
    (result,) = evaluate(
        [run_path], Questions("t", list(qrels), None, qrels), parse_measures(["RR", "RR@1000"])
    ).results
    assert result.values["RR@1000"] == pytest.approx(result.values["RR"])
