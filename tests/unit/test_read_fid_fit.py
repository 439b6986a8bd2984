"""`python -m seal_ir.read fit`: a reader is trained on a run, goes on from a checkpoint, and answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from seal_ir.read.__main__ import main
from seal_ir.read.contexts import IndexPassages
from seal_ir.read.fid.batches import Batches, Material
from seal_ir.read.fid.description import FidDescription
from seal_ir.read.fid.loading import BIAS, Parts
from seal_ir.read.fid.questions import FitSources, read_fit_questions
from seal_ir.read.fid.reader import load_fid_reader
from seal_ir.text.tokenizer import TextTokenizer
from seal_ir.train.fit.log import DEV_LOSS
from tests.helpers import copying
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.training import report

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")
N = 40
FAST = ("--contexts", 2, "--questions", 4, "--accumulate", 1, "--lr", "3e-3", "--warmup", 2, "--log-steps", 3)
Fit = Callable[..., Result]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with index, topics, answers, run and two models; tests must not change it."""
    folder = tmp_path_factory.mktemp("copying")
    copying.write(folder, copying.asked(N, 2, test=False))
    for kind in ("t5", "bart"):
        copying.save_model(folder / kind, kind)
    return folder


@pytest.fixture
def fit(call: Runner, task: Path) -> Fit:
    def run(output: Path, *options: object, **changes: Path) -> Result:
        files = {"run": task / "run.trec", "topics": task / "topics.jsonl", "answers": task / "answers.jsonl"}
        files |= {"index": task / "index", "model": task / "t5"} | changes
        named = [word for name, path in files.items() for word in (f"--{name}", path)]
        return call(main, "fit", *named, "--output", output, *FAST, *options)

    return run


@pytest.fixture(scope="module")
def trained(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six steps with a checkpoint at each third; tests must not change it."""
    output = tmp_path_factory.mktemp("trained") / "out"
    files = ("run.trec", "topics.jsonl", "answers.jsonl", "index")
    words = [str(word) for file in files for word in (f"--{file.split('.')[0]}", task / file)]
    rest = ("--model", task / "t5", "--output", output, *FAST, "--steps", 6, "--save-steps", 3)
    assert main(["fit", *words, *(str(word) for word in (*rest, "--eval-steps", 3))]) == 0
    return output


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def assert_same(found: Path, expected: Path) -> None:
    one, other = weights(found), weights(expected)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_leaves_a_reader_and_a_report(trained: Path, task: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "fid.json", "training.json"}
    about = report(trained)
    assert (about["questions"], about["run"], about["index"]) == (N, "run.trec", "index")
    assert about["read"]["contexts"] == 2
    losses = [value for _, value in about["curves"][DEV_LOSS]]
    assert len(losses) == 3  # before, in the middle, at the end
    assert losses[-1] < losses[0]
    assert json.loads((trained / "fid.json").read_text("utf-8"))["contexts"] == 2
    assert not torch.equal(weights(trained)["shared.weight"], weights(task / "t5")["shared.weight"])


def test_a_resumed_run_ends_as_an_unbroken_one(fit: Fit, trained: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    (output / "checkpoints").mkdir(parents=True)
    shutil.copytree(trained / "checkpoints" / "checkpoint-3", output / "checkpoints" / "checkpoint-3")
    options = ("--steps", 6, "--save-steps", 3, "--eval-steps", 3)
    assert_fault(fit(output, *options), 2, "holds a training run; add --resume, or name another")
    result = fit(output, *options, "--resume")
    assert result.code == 0, result.err
    assert result.out == f"{output}\n"
    assert_same(output, trained)
    shutil.rmtree(output / "checkpoints")
    assert_fault(fit(output, *options), 2, "holds a model, and no checkpoint to go on from")


def test_what_is_computed_again_gives_the_same_model(fit: Fit, trained: Path, tmp_path: Path) -> None:
    result = fit(tmp_path / "out", "--steps", 6, "--eval-steps", 3, "--recompute")
    assert result.code == 0, result.err
    one, other = weights(tmp_path / "out"), weights(trained)
    assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)


def test_the_command_reads_with_what_was_trained(
    call: Runner, trained: Path, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ("--topics", task / "topics.jsonl", "--index", task / "index", "--run", task / "run.trec")
    result = call(main, *files, "--reader", trained, "--answers", task / "answers.jsonl", "--device", "cpu")
    assert result.code == 0, result.err
    assert result.out.startswith("predictions.jsonl\n")
    about = json.loads(Path("predictions.jsonl.config.json").read_text(encoding="utf-8"))
    assert (about["reader"], about["contexts"]) == ("fid", 2)  # as many as it was trained with
    records = [json.loads(line) for line in Path("predictions.jsonl").read_text("utf-8").splitlines()]
    by_hand = load_fid_reader(str(trained), device="cpu")
    asked = copying.asked(N, 2, test=False)
    texts = by_hand.read([one.question for one in asked], [copying.contexts(one) for one in asked])
    assert [record["answer"] for record in records] == [answer.text for answer in texts]


@pytest.mark.slow
def test_an_adapter_is_trained_on_bart_and_reads(fit: Fit, task: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    result = fit(output, "--steps", 4, "--lora", 2, "--patience", 1, "--eval-steps", 2, model=task / "bart")
    assert result.code == 0, result.err
    assert (output / "adapter_model.safetensors").is_file()
    reader = load_fid_reader(str(output), device="cpu")
    assert not reader.keeps_keys
    assert reader.parts.description.passage_tokens == 32
    assert len(reader.read(["the code of name1"], [[]])) == 1


def test_the_bias_of_an_old_checkpoint_is_trained_further(fit: Fit, task: Path, tmp_path: Path) -> None:
    from transformers import T5ForConditionalGeneration

    network: Any = T5ForConditionalGeneration.from_pretrained(task / "t5")
    attention = network.decoder.block[0].layer[1].EncDecAttention
    attention.relative_attention_bias = nn.Embedding(32, 4)
    start = tmp_path / "start"
    network.save_pretrained(start)
    shutil.copy(task / "t5" / "tokenizer.json", start)
    old = FidDescription(passage_tokens=20, affixes=False, cross_attention_bias=True)
    (start / "fid.json").write_text(old.to_json(), encoding="utf-8")
    refused = fit(tmp_path / "out", "--steps", 3, "--lora", 2, model=start)
    assert_fault(refused, 2, "no adapter holds its cross_attention_bias; leave out --lora")
    result = fit(tmp_path / "out", "--steps", 3, "--eval-steps", 3, model=start)
    assert result.code == 0, result.err
    assert not torch.equal(weights(tmp_path / "out")[BIAS], weights(start)[BIAS])
    found = load_fid_reader(str(tmp_path / "out"), device="cpu").parts.description
    assert (found.affixes, found.cross_attention_bias, found.passage_tokens) == (False, True, 20)


def edited(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text", "code", "told"),
    [
        ("run", "", 1, "the run is empty; there is nothing to read"),
        ("run", "other Q0 name0-code1 1 1 t\n", 1, "0 of 40 topics in run"),
        ("run", "0 Q0 nowhere 1 1 t\n", 1, "1 of its 1 passages, such as 'nowhere', are not in"),
        ("run", "0 Q0 name0-code1 1 1 t\n", 1, "1 questions are too few to hold some out"),
        ("run", "0 Q0 name0-code1\n", 1, "run:1: 3 columns"),
        (
            "answers",
            '{"qid": "x", "answers": ["y"]}\n',
            1,
            "no question is left: 40 without answers,",
        ),
        (
            "answers",
            '{"qid": "0", "answers": [" "]}\n',
            1,
            "no question is left: 40 without answers,",
        ),
        ("topics", '{"qid": "0", "question": "the"}\n', 1, "1 questions are too few to hold some out"),
    ],
)
def test_files_that_cannot_be_trained_on(
    fit: Fit, tmp_path: Path, name: str, text: str, code: int, told: str
) -> None:
    result = fit(tmp_path / "out", "--steps", 1, **{name: edited(tmp_path / name, text)})
    assert_fault(result, code, told)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (
            ("--steps", 1, "--passage-tokens", 4),
            1,
            "all 40 have too many tokens for the 4 of a",
        ),
        (("--contexts", 0), 2, "contexts is 0; it must be at least 1"),
        (("--questions", 0), 2, "questions is 0; it must be at least 1"),
        (("--answer-tokens", 1), 2, "answer_tokens is 1; it must be at least 2"),
        (("--steps", 0), 2, "steps is 0; it must be at least 1"),
        (
            ("--answers", "demo-2"),
            2,
            "--answers 'demo-2': no such file, and none belong to",
        ),
        (("--index", "nowhere-1"), 2, "nowhere-1"),
        (("--index", "no/where"), 1, "no/where"),
        (("--resume",), 2, "has no checkpoint to go on from; leave out --resume"),
    ],
)
def test_options_that_mean_nothing(
    fit: Fit, tmp_path: Path, options: tuple[object, ...], code: int, told: str
) -> None:
    assert_fault(fit(tmp_path / "out", *options), code, told)
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_no_encoder_decoder_is_refused(fit: Fit, llama: Path, tmp_path: Path) -> None:
    result = fit(tmp_path / "out", "--steps", 1, model=llama)
    assert_fault(result, 1, "LlamaForCausalLM is no encoder-decoder model, and Fusion-in-Decoder needs one")
    assert not (tmp_path / "out").exists()


def test_each_pass_has_each_question_once_with_any_of_its_answers(task: Path, tmp_path: Path) -> None:
    records = [{"qid": str(i), "answers": [f"code{i % 20}", "code0"]} for i in range(N)]
    answers = "".join(f"{json.dumps(record)}\n" for record in records)
    sources = FitSources(task / "run.trec", task / "topics.jsonl", edited(tmp_path / "answers", answers))
    passages = IndexPassages(task / "index")
    questions = read_fit_questions(sources, passages, 2)
    tokenizer = TextTokenizer.from_file(task / "t5" / "tokenizer.json")
    material = Material(questions, passages, Parts(tokenizer, FidDescription(), (0,), 1))
    chosen, dev = material.held_out()
    assert (len(chosen), len(dev)) == (N - 4, 4)
    made = [Batches(material, chosen, 27, 4, seed) for seed in (0, 0, 1)]
    passes = [[made[0].drawn(place) for place in range(at, at + 36)] for at in (0, 36, 72)]
    for drawn in passes:
        assert len({id(question) for question, _ in drawn}) == 36
    assert len({tuple(question.text for question, _ in drawn) for drawn in passes}) == 3
    assert {answer == "code0" for drawn in passes for _, answer in drawn} == {True, False}
    one, same, other = ([batches[i]["input_ids"].numpy() for i in (26, 0, 13)] for batches in made)
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    with pytest.raises(IndexError):
        made[0][27]
