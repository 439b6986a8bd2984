"""`python -m seal_ir.train rank`: the trained score is the ranker's, and training rights a ranking."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from seal_ir import SealIndexer, SealSearcher
from seal_ir.config import DecodeConfig, RankConfig, SearchConfig, preset
from seal_ir.index.reader import Index
from seal_ir.lm.load import load_model
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import Document, QueryKeys
from seal_ir.train.__main__ import main
from seal_ir.train.fit.stream import collation
from seal_ir.train.rank import rounds as rounds_module
from seal_ir.train.rank.evidence import Evidence, gather
from seal_ir.train.rank.loss import RankLoss
from seal_ir.train.rank.options import RankOptions
from seal_ir.train.rank.questions import QuestionSources, RankQuestion, read_questions
from seal_ir.train.rank.rounds import Rounds, Step
from seal_ir.train.rank.scores import cross_entropy, margin, scores
from tests.helpers import stub, tiny, training
from tests.helpers.commands import Result, Runner, assert_fault

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")
CONFIG = SearchConfig(
    "body",
    DecodeConfig(beam=4, body_steps=4, title_steps=0, unigrams=400),
    RankConfig(kinds=("body", "query"), unigram_alpha=True, query_trust=0.7, query_scale=1.2),
)
# Nothing in a question is in its passage, and spans without a match begin where all passages begin alike.
CODES = ["alpha", "beta", "gamma", "delta", "omega", "sigma"]
RIDDLES = [
    Document(f"r{i}", "", f"It is called by everyone {place} ever since")
    for i, place in enumerate(training.PLACES[: len(CODES)])
]
# So many that what is rare is rare: a weight of 0 has no gradient.
OTHERS = [Document(f"x{i}", "", "the the the the the the is is is by by by since") for i in range(150)]
PAIRS = [(f"what is {code} of {code}", f"r{i}") for i, code in enumerate(CODES)]
Train = Callable[..., Result]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("places") / "index"
    tiny.build(directory, training.DOCUMENTS)
    return directory


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory, training_data: Path, llama: Path) -> dict[str, Path]:
    """Models that have seen the places: what random ones write weighs nothing."""
    folder = tmp_path_factory.mktemp("fitted")
    for family, start in (("llama", llama), ("bart", training.save_bart(folder / "start"))):
        made_of = ("--data", training_data, "--model", start, "--output", folder / family, "--tokens", 500)
        how = ("--steps", 40, "--max-tokens", 120, "--lr", "1e-2", "--warmup", 5, "--clip", 1)
        assert main([str(item) for item in ("fit", *made_of, *how)]) == 0
    return {family: folder / family for family in ("llama", "bart")}


@pytest.fixture(scope="module")
def riddles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of riddles, and their pairs."""
    folder = tmp_path_factory.mktemp("riddles")
    tiny.build(folder / "index", [*RIDDLES, *OTHERS])
    records = [{"question": question, "positive_ids": [docid]} for question, docid in PAIRS]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return folder


@pytest.fixture
def train(call: Runner, riddles: Path, llama: Path) -> Train:
    def run(output: Path, *options: object, model: Path = llama) -> Result:
        sources = ("--index", riddles / "index", "--pairs", riddles / "pairs.jsonl")
        fast = ("--model", model, "--questions", 6, "--refresh", 4, "--lr", "5e-3", "--warmup", 2)
        return call(main, "rank", *sources, "--output", output, *fast, "--log-steps", 4, *options)

    return run


def made(folder: Path, model: Path, config: SearchConfig, options: RankOptions) -> tuple[RankLoss, Step, Any]:
    """A loss, a step of questions about places, and the step's tensors."""
    opened = Index(folder)
    network, generator = load_model(str(model), device="cpu")
    questions = [
        RankQuestion(text, (int(opened.number(document.id) or 0),))
        for text, document in training.questions()[:: len(training.DOCUMENTS) // 5]
    ]
    rounds = Rounds(questions, opened, config, options, lambda: generator)
    step = rounds.step(0)
    collate = collation(generator, network, torch.float32, 1024)
    return RankLoss(network, 0.1, options), step, collate(step.groups)


@pytest.mark.slow
@pytest.mark.parametrize("small_share", [0.0, 1.0])
@pytest.mark.parametrize("family", ["llama", "bart"])
@pytest.mark.parametrize(
    "settings",
    [
        CONFIG,
        replace(CONFIG, rank=RankConfig(kinds=("body", "query"), alpha=1.5, unigram_scale=2.0)),
        preset("intersective"),
        replace(preset("body"), rank=RankConfig(kinds=("body", "query"), unigrams=False)),
    ],
    ids=["trust", "scale", "titles", "no unigrams"],
)
def test_the_score_that_is_trained_is_that_of_the_ranker(
    index: Path, fitted: dict[str, Path], family: str, settings: SearchConfig, small_share: float
) -> None:
    options = RankOptions(questions=4, refresh=1, keys=1000, hits=5, small_share=small_share)
    loss, step, inputs = made(index, fitted[family], settings, options)
    labels = inputs.pop("target")
    with torch.no_grad():
        logits = loss.logits(inputs.pop("predict"), inputs)
        logprobs = logits.gather(1, labels[:, None])[:, 0] - torch.logsumexp(logits, dim=1)
        for item in step.items.of_step:
            found = loss.scores(item, logits, logprobs).numpy()
            assert len(item.keys) > 0
            assert item.evidence.scores.max() > 0
            np.testing.assert_allclose(found, item.evidence.scores, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_small_steps_are_within_few_documents_and_count_there(
    index: Path, fitted: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_module, "_SMALL", (5, 5))
    whole = Index(index)
    options = RankOptions(questions=2, refresh=1, small_share=1.0)
    _, step, _ = made(index, fitted["llama"], CONFIG, options)
    (documents,) = {tuple(item.evidence.documents.tolist()) for item in step.items.of_step}
    for item in step.items.of_step:
        known = item.evidence
        assert known.positive.sum() == 1
        assert len(documents) <= 5 < whole.n_documents
        assert known.weighing.n_tokens < whole.n_tokens
        counts = [sum(hi - lo for lo, hi in whole.find(key.symbols)) for key in known.keys]
        assert all(key.count <= count for key, count in zip(known.keys, counts, strict=True))
        assert any(key.count < count for key, count in zip(known.keys, counts, strict=True))


@pytest.mark.slow
def test_the_first_step_alone_leaves_the_weights_of_n_grams_as_they_are(
    index: Path, fitted: dict[str, Path]
) -> None:
    options = RankOptions(questions=4, refresh=1, first_step=True, generation=0.0)
    few = replace(CONFIG, decode=replace(CONFIG.decode, beam=1, query_words=0))
    loss, step, inputs = made(index, fitted["llama"], few, options)
    assert [len(item.keys) for item in step.items.of_step] == [0] * 4
    assert all(len(group) == 1 for group in step.groups)
    moved: list[float] = []
    logits = loss.logits(inputs.pop("predict"), inputs).detach().requires_grad_()
    for item in step.items.of_step:
        found = loss.scores(item, logits, logits[:, 0])
        np.testing.assert_allclose(found.detach().numpy(), item.evidence.scores, rtol=1e-5, atol=1e-5)
        (gradient,) = torch.autograd.grad(found.sum(), logits, retain_graph=True)
        moved.append(float(gradient[item.first].abs().sum()))
        assert float(gradient.abs().sum()) == pytest.approx(moved[-1])
    assert max(moved) > 0


def evidence_of(index: Index, keys: QueryKeys, config: RankConfig) -> Evidence:
    documents = np.arange(index.n_documents)
    return gather(keys, config, index, documents, [0], [1], Streams(index))


@pytest.mark.parametrize("unigram_alpha", [False, True])
def test_gradients_are_the_differences_of_the_exact_score(
    index: Path, fitted: dict[str, Path], *, unigram_alpha: bool
) -> None:
    """Each key's log-probability is moved a little, and all documents are scored anew by the ranker."""
    opened = Index(index)
    searcher = SealSearcher(index, str(fitted["llama"]), config=CONFIG, device="cpu")
    config = replace(CONFIG.rank, unigram_alpha=unigram_alpha)
    (keys,) = searcher.decode(["where is Paris"])
    known = evidence_of(opened, keys, config)
    logprobs = torch.tensor([key.logprob for key in known.keys], dtype=torch.float64)
    places = {int(symbol): i for i, symbol in enumerate(keys.unigrams.symbols)}
    unigrams = keys.unigrams.logprobs[[places[int(symbol)] for symbol in known.tokens]]
    parts = torch.cat([logprobs, torch.from_numpy(unigrams)]).requires_grad_()
    found = scores(known, parts)
    shares = np.random.default_rng(0).random(opened.n_documents)  # of each document in what is compared
    (gradient,) = torch.autograd.grad((found * torch.from_numpy(shares)).sum(), parts)
    step, compared = 1e-6, 0

    def score(changed: QueryKeys) -> float:
        return float(evidence_of(opened, changed, config).scores @ shares)

    for i, key in enumerate(known.keys):
        if key.logprob > -1e-3:
            continue
        moved = tuple(replace(k, logprob=k.logprob + step) if k == key else k for k in keys.keys)
        difference = (score(keys._replace(keys=moved)) - score(keys)) / step
        assert float(gradient[i]) == pytest.approx(difference, rel=1e-3, abs=1e-4)
        compared += difference != 0
    for i, symbol in enumerate(known.tokens.tolist()):
        changed = keys.unigrams.logprobs.copy()
        changed[places[symbol]] += step
        moved_unigrams = keys.unigrams._replace(logprobs=changed)
        difference = (score(keys._replace(unigrams=moved_unigrams)) - score(keys)) / step
        assert float(gradient[len(known.keys) + i]) == pytest.approx(difference, rel=1e-3, abs=1e-4)
        compared += difference != 0
    assert compared > 5


@pytest.fixture
def known(index: Path, fitted: dict[str, Path]) -> Evidence:
    """Of every document: the first is positive, the second no negative."""
    searcher = SealSearcher(index, str(fitted["llama"]), config=CONFIG, device="cpu")
    (keys,) = searcher.decode(["where is Paris"])
    return evidence_of(Index(index), keys, CONFIG.rank)


def test_losses_are_what_they_say(known: Evidence) -> None:
    units = torch.arange(len(known.counted), dtype=torch.float64)
    others = units[2:]  # document 0 is positive, 1 may be and counts nowhere
    expected = torch.logsumexp(torch.cat([units[:1], others]), 0) - units[0]
    assert float(cross_entropy(units, known)) == pytest.approx(float(expected))
    assert float(margin(units, known, 3.0)) == pytest.approx(
        float((3.0 + others - units[0]).clamp(min=0).mean())
    )


@pytest.mark.parametrize("loss", [cross_entropy, lambda units, known: margin(units, known, 1.0)])
def test_a_question_without_negatives_has_no_loss(loss: Any, known: Evidence) -> None:
    alone = replace(known, counted=np.zeros_like(known.counted))
    units = torch.arange(len(known.counted), dtype=torch.float64, requires_grad=True)
    value = loss(units, alone)
    value.backward()
    assert float(value.detach()) == pytest.approx(0.0, abs=1e-9)
    assert units.grad is not None and float(units.grad.abs().max()) < 1e-9


def accuracy(folder: Path, model: Path) -> float:
    searcher = SealSearcher(folder / "index", str(model), preset="body", device="cpu")
    hits = [searcher.search(question, k=1) for question, _ in PAIRS]
    return (
        sum(bool(found) and found[0].docid == docid for found, (_, docid) in zip(hits, PAIRS, strict=True))
        / 6
    )


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--loss", "margin")], ids=["cross-entropy", "margin"])
def test_ranks_are_righted_where_the_loss_of_text_ranks_wrongly(
    call: Runner, train: Train, riddles: Path, llama: Path, tmp_path: Path, options: tuple[Any, ...]
) -> None:
    made_of = ("--pairs", riddles / "pairs.jsonl", "--input", _collection(tmp_path), "--titles", 0)
    assert call(main, "data", *made_of, "--output", tmp_path / "set", "--span-words", 4).code == 0
    fit = ("--data", tmp_path / "set", "--dev-data", tmp_path / "set", "--model", llama, "--lr", "5e-3")
    steps = ("--steps", 60, "--warmup", 5, "--tokens", 300, "--max-tokens", 100, "--eval-steps", 60)
    fitted = call(main, "fit", *fit, *steps, "--clip", 1, "--output", tmp_path / "fitted")
    assert fitted.code == 0, fitted.err
    assert accuracy(riddles, tmp_path / "fitted") < 0.4
    result = train(
        tmp_path / "ranked", "--steps", 100, "--temperature", 1, *options, model=tmp_path / "fitted"
    )
    assert (result.code, result.out) == (0, f"{tmp_path / 'ranked'}\n"), result.err
    assert accuracy(riddles, tmp_path / "ranked") > 0.8
    curve = training.report(tmp_path / "ranked")["curves"]["train_rank_loss"]
    assert curve[-1][1] < curve[0][1] / 2
    assert (tmp_path / "ranked" / "loss.png").is_file()


def _collection(folder: Path) -> Path:
    path = folder / "riddles.jsonl"
    path.write_text("".join(json.dumps({"id": d.id, "contents": d.text}) + "\n" for d in RIDDLES), "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's
@pytest.mark.parametrize("lora", [(), ("--lora", 4), ("--small-share", 0.5)])
def test_a_resumed_run_ends_where_an_unbroken_one(
    train: Train, tmp_path: Path, lora: tuple[Any, ...]
) -> None:
    out = tmp_path / "run"
    options = ("--steps", 12, "--save-steps", 4, *lora)
    assert train(out, *options).code == 0
    last = out / "checkpoints" / "checkpoint-12" / "trained.safetensors"
    unbroken = load_file(last)
    shutil.rmtree(last.parent)
    assert train(out, *options, "--resume").code == 0
    resumed = load_file(last)
    assert "log_temperature" in unbroken
    assert unbroken.keys() == resumed.keys()
    for name, value in unbroken.items():
        assert torch.equal(value, resumed[name]), name


@pytest.mark.slow
def test_time_that_is_up_ends_the_round_with_a_checkpoint(train: Train, tmp_path: Path) -> None:
    result = train(tmp_path / "run", "--steps", 400, "--max-minutes", 0.00001)
    assert result.code == 0, result.err
    assert "stopped at step 4 of 400; go on with --resume" in result.err
    assert (tmp_path / "run" / "checkpoints" / "checkpoint-4" / "trained.safetensors").is_file()


def test_positives_and_passages_with_an_answer_are_no_negatives(index: Path, llama: Path) -> None:
    opened = Index(index)
    _, generator = load_model(str(llama), device="cpu")
    numbers = {document.title: int(opened.number(document.id) or 0) for document in training.DOCUMENTS}
    question = RankQuestion(
        "where is Paris",
        (numbers["Paris"], numbers["Seine"]),
        ("Tokyo",),
        (numbers["Tokyo"], numbers["Whale"]),
    )
    rounds = Rounds(
        [question], opened, CONFIG, RankOptions(questions=1, refresh=1, positives=1), lambda: generator
    )
    known = rounds.step(0).items.of_step[0].evidence
    sides = dict(zip(known.documents.tolist(), zip(known.positive, known.counted, strict=True), strict=True))
    assert sides[numbers["Tokyo"]] == (False, False)
    assert sides[numbers["Whale"]] == (False, True)
    for title in ("Paris", "Seine"):  # one is drawn, the other may be among the hits
        assert sides.get(numbers[title], (True, False)) == (True, False)


def test_questions_come_once_with_all_that_is_known_of_them(index: Path, tmp_path: Path) -> None:
    pairs, topics, run = tmp_path / "pairs.jsonl", tmp_path / "topics.tsv", tmp_path / "run.trec"
    records: list[dict[str, Any]] = [
        {"question": "Where is Paris?", "positive_ids": ["p0"], "answers": ["France"]},
        {"question": "where is paris", "positive_ids": ["p1", "gone"]},
        {"question": "left out", "positive_ids": ["p2"]},
    ]
    pairs.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps(records[0]) + "\n", "utf-8")
    topics.write_text("1\tWHERE IS PARIS\n2\tleft out\n", "utf-8")
    run.write_text("1 Q0 p3 1 2.0 t\n1 Q0 gone 2 1.0 t\n", "utf-8")
    left_out = tmp_path / "left.tsv"
    left_out.write_text("9\tLeft out!\n", "utf-8")
    sources = QuestionSources([pairs], exclude=[left_out], answers=[answers], negatives=[(topics, run)])
    assert read_questions(sources, Index(index)) == [
        RankQuestion("Where is Paris?", (0, 1), ("France",), (3,))
    ]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--preset", "lm-fm"), 2, "does not rank by the sum of keys' weights"),
        (("--preset", "published"), 2, "does not rank by the sum of keys' weights"),
        (("--temperature", 0), 2, "temperature is 0.0; it must be above 0"),
        (("--generation", 1), 2, "generation is 1.0; it must lie in [0, 1)"),
        (("--questions", 0), 2, "questions is 0"),
        (("--exclude", "TOPICS"), 1, "no question is left: 6 are excluded"),
        (("--negatives", "TOPICS", "RUN"), 1, "none of its topics are in"),
        (("--answers", "nothing-of-that-name"), 2, "no such file"),
        (("--resume",), 2, "has no checkpoint to go on from"),
        (("--lora", 4, "--index", "OTHER"), 1, "no question is left"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(
    train: Train, index: Path, tmp_path: Path, options: tuple[object, ...], code: int, message: str
) -> None:
    topics, run = tmp_path / "topics.tsv", tmp_path / "run.trec"
    topics.write_text("".join(f"{i}\t{question}\n" for i, (question, _) in enumerate(PAIRS)), "utf-8")
    run.write_text("odd Q0 r1 1 2.0 t\n", "utf-8")
    named = {"TOPICS": topics, "RUN": run, "OTHER": index}
    result = train(tmp_path / "out", *(named.get(str(option), option) for option in options))
    assert_fault(result, code, message)
    assert not (tmp_path / "out" / "seal.json").exists()


def test_there_must_be_questions(call: Runner, index: Path, tmp_path: Path) -> None:
    assert_fault(
        call(main, "rank", "--index", index, "--output", tmp_path / "o"), 2, "give --pairs or --judged"
    )


def test_the_ranker_scores_given_documents_as_it_ranks_them(index: Path, fitted: dict[str, Path]) -> None:
    opened = Index(index)
    (keys,) = SealSearcher(index, str(fitted["llama"]), config=CONFIG, device="cpu").decode(
        ["which river is in Tokyo"]
    )
    ranked = rank(opened, keys, CONFIG.rank, opened.n_documents)
    known = evidence_of(opened, keys, CONFIG.rank)
    assert ranked
    for item in ranked:
        assert known.scores[item.document] == pytest.approx(item.score, abs=1e-9)


def test_an_index_of_another_tokenizer_is_refused(train: Train, tmp_path: Path) -> None:
    with SealIndexer(tmp_path / "index", stub.word_tokenizer(["Paris", "London"])) as writer:
        writer.add([Document("r0", "", "Paris London")])
    result = train(tmp_path / "out", "--index", tmp_path / "index")
    assert_fault(result, 1, "which is not this model's; index the collection again with --model")
