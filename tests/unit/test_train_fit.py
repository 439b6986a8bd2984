"""`python -m seal_ir.train fit` on small models: the loss falls, runs go on, search works."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from transformers.utils import logging as theirs

from seal_ir import SealSearcher
from seal_ir.config import DEFAULT_PRESET, PRESETS
from seal_ir.errors import ModelError
from seal_ir.lm.load import load_generator
from seal_ir.records import TITLE
from seal_ir.search.__main__ import main as search
from seal_ir.text.pretrained import find_model
from seal_ir.train.data.dataset import finish, open_directory, write_parts
from seal_ir.train.data.examples import Example
from seal_ir.train.data.pairs import SUPERVISED, Pair
from seal_ir.train.fit import command as fit_command
from seal_ir.train.fit.log import DEV_LOSS
from seal_ir.train.fit.result import save_result
from tests.helpers import tiny, training
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.training import Fit, fitting, report

pytestmark = pytest.mark.filterwarnings("ignore:Can't initialize NVML")
FAST = ("--tokens", 500, "--max-tokens", 120, "--lr", "5e-3", "--warmup", 5, "--clip", 1, "--log-steps", 10)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("places") / "index"
    tiny.build(directory, training.DOCUMENTS)
    return directory


@pytest.fixture
def fit(call: Runner, training_data: Path, llama: Path) -> Fit:
    return fitting(call, training_data, llama, *FAST)


def dev_losses(folder: Path) -> list[float]:
    return [value for _, value in report(folder)["curves"][DEV_LOSS]]


@pytest.mark.slow
def test_training_lowers_the_loss_on_held_out_pairs(fit: Fit, tmp_path: Path, index: Path) -> None:
    out = tmp_path / "model"
    result = fit(out, "--steps", 60, "--eval-steps", 30)
    assert (result.code, result.out) == (0, f"{out}\n"), result
    losses = dev_losses(out)
    assert [step for step, _ in report(out)["curves"][DEV_LOSS]] == [0, 30, 60]
    assert losses[2] < losses[1] < losses[0] - 0.5
    assert f"step 60/60 {DEV_LOSS}=" in result.err
    assert (out / "loss.png").read_bytes().startswith(b"\x89PNG")
    # The folder is a model: its prompts are the ones that it was trained with, and it finds what it learnt.
    assert json.loads((out / "seal.json").read_text())["body"] == "question: {query}\npassage:"
    searcher = SealSearcher(index, str(out), preset="lm", device="cpu")
    assert searcher.generator.tokenizer.fingerprint == tiny.tokenizer().fingerprint
    assert len(searcher.search("which river is in Tokyo", k=3)) == 3


@pytest.mark.slow
def test_a_sequence_to_sequence_model_learns_too(fit: Fit, tmp_path: Path, index: Path) -> None:
    out = tmp_path / "model"
    result = fit(out, "--steps", 60, model=training.save_bart(tmp_path / "bart"))
    assert result.code == 0, result
    losses = dev_losses(out)
    assert losses[-1] < losses[0] - 0.5
    description = json.loads((out / "seal.json").read_text())
    assert (description["family"], description["title"]) == ("seq2seq", "{query} || title || +")
    assert len(SealSearcher(index, str(out), preset="lm", device="cpu").search("where is Paris", k=3)) == 3


@pytest.mark.slow
def test_prompts_that_are_cut_are_counted_in_one_line(fit: Fit, tmp_path: Path) -> None:
    """Of those that were read, here once for the dev loss and once in training; others are left out."""
    items = [
        Pair("where is Paris " * n, "Paris", training.DOCUMENTS[0].text, SUPERVISED) for n in [1] * 29 + [400]
    ]
    open_directory(tmp_path / "set", {})
    write_parts(
        tmp_path / "set", items, lambda item, rng: [Example(item.question, item.title, TITLE, item.kind)], 0
    )
    finish(tmp_path / "set", {})
    options = ("--data", tmp_path / "set", "--dev-data", tmp_path / "set", "--steps", 1, "--accumulate", 2)
    left_out = fit(tmp_path / "short", *options)
    assert (left_out.code, "cut" in left_out.err) == (0, False), left_out.err
    result = fit(tmp_path / "long", *options, "--tokens", 4000, "--max-tokens", 512)
    assert result.code == 0, result.err
    (told,) = [line for line in result.err.splitlines() if "cut" in line]
    assert re.fullmatch(r"2 of 60 prompts were longer than \d+ tokens and were cut", told)


def test_writing_a_model_shows_no_bars_of_transformers(
    llama: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command is quiet in all that it does; so is what Python calls."""
    generator, network = load_generator(str(llama), "cpu"), AutoModelForCausalLM.from_pretrained(llama)
    theirs.enable_progress_bar()
    capfd.readouterr()
    network.save_pretrained(tmp_path / "loud")
    assert "Writing model shards" in capfd.readouterr().err
    save_result(tmp_path / "model", find_model(str(llama)), network, None, generator.description)
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert capfd.readouterr() == ("", "")
    assert theirs.is_progress_bar_enabled()


@pytest.mark.slow
def test_an_adapter_is_a_model_by_its_path(
    fit: Fit, call: Runner, llama: Path, tmp_path: Path, index: Path
) -> None:
    out = tmp_path / "adapter"
    result = fit(out, "--steps", 40, "--lora", 4)
    assert result.code == 0, result
    losses = dev_losses(out)
    assert losses[-1] < losses[0] - 0.1
    assert not (out / "model.safetensors").exists()
    assert (out / "adapter_model.safetensors").stat().st_size < 50_000
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\twhere is Paris\n", encoding="utf-8")
    options = ("--topics", topics, "--index", index, "--preset", "lm", "--output", tmp_path / "run.trec")
    assert call(search, "--model", out, *options, "--device", "cpu").code == 0
    assert len((tmp_path / "run.trec").read_text().splitlines()) > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's
def test_an_adapter_is_merged_as_peft_merges_it(fit: Fit, llama: Path, tmp_path: Path) -> None:
    from peft import PeftModel

    out = tmp_path / "adapter"
    assert fit(out, "--steps", 10, "--lora", 4).code == 0
    theirs = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(llama), out).merge_and_unload()
    from seal_ir.lm.load import load_network
    from seal_ir.text.pretrained import find_model

    ours = load_network(find_model(str(out)), torch.float32)
    base = AutoModelForCausalLM.from_pretrained(llama)
    tokens = torch.arange(20)[None]
    with torch.no_grad():
        logits = [network(input_ids=tokens).logits for network in (ours, theirs, base)]
    assert torch.allclose(logits[0], logits[1], atol=1e-5)
    assert not torch.allclose(logits[0], logits[2], atol=1e-2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's
def test_an_adapter_is_trained_further(fit: Fit, llama: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert fit(first, "--steps", 20, "--lora", 4).code == 0
    assert fit(second, "--steps", 20, "--lora", 4, "--model", first).code == 0
    assert dev_losses(second)[0] == pytest.approx(dev_losses(first)[-1], abs=0.01)  # bfloat16 in between
    assert dev_losses(second)[-1] < dev_losses(second)[0]
    config = json.loads((second / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(llama.resolve())
    result = fit(tmp_path / "third", "--steps", 2, "--lora", 8, "--model", first)
    assert (result.code, "has rank 4; train it further with --lora 4" in result.err) == (2, True), result


@pytest.mark.slow
@pytest.mark.parametrize("lora", [(), ("--lora", 4)])
def test_a_resumed_run_ends_where_an_unbroken_one(fit: Fit, tmp_path: Path, lora: tuple[Any, ...]) -> None:
    out = tmp_path / "run"
    options = ("--steps", 8, "--save-steps", 4, "--targets", 2, "--unsupervised-share", 0.2, *lora)
    assert fit(out, *options).code == 0
    last = out / "checkpoints" / "checkpoint-8" / "trained.safetensors"
    unbroken = load_file(last)
    shutil.rmtree(last.parent)
    assert fit(out, *options, "--resume").code == 0
    resumed = load_file(last)
    assert unbroken.keys() == resumed.keys()
    for name, value in unbroken.items():
        assert torch.equal(value, resumed[name]), name
    before = load_file(out / "checkpoints" / "checkpoint-4" / "trained.safetensors")
    assert any(not torch.equal(value, resumed[name]) for name, value in before.items())


@pytest.mark.slow
def test_time_that_is_up_ends_training_with_a_checkpoint(fit: Fit, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = fit(out, "--steps", 1000, "--max-minutes", 0.00001)
    assert result.code == 0, result
    assert "stopped at step 1 of 1000; go on with --resume" in result.err
    assert (out / "checkpoints" / "checkpoint-1" / "trained.safetensors").is_file()
    assert load_generator(str(out), device="cpu").description.body == "question: {query}\npassage:"
    resumed = fit(out, "--steps", 3, "--resume")
    assert resumed.code == 0, resumed
    assert "step 3/3" in resumed.err
    assert_fault(fit(out, "--steps", 3, "--resume"), 2, "checkpoint-3", "raise --steps")


@pytest.mark.slow
def test_the_same_seed_trains_the_same_model(fit: Fit, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert fit(tmp_path / name, "--steps", 4, "--lora", 2, "--seed", seed).code == 0
    a, b, c = (load_file(tmp_path / name / "adapter_model.safetensors") for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert any(not torch.equal(a[name], c[name]) for name in a)


@pytest.mark.slow
def test_b15_no_figure_of_training_is_called_accuracy_alone(fit: Fit, tmp_path: Path, index: Path) -> None:
    """B15: what was logged in training has been taken for accuracy@k; here names say what is measured.

    The dev retrieval metric is what a search with the model that was saved finds.
    """
    topics, qrels, answers = (tmp_path / name for name in ("t.tsv", "q.trec", "a.jsonl"))
    asked = training.questions()[:10]
    topics.write_text(
        "".join(f"{i}\t{question}\n" for i, (question, _) in enumerate(asked)), encoding="utf-8"
    )
    qrels.write_text("".join(f"{i} 0 {document.id} 1\n" for i, (_, document) in enumerate(asked)))
    answers.write_text(
        "".join(json.dumps({"qid": str(i), "answers": [d.title]}) + "\n" for i, (_, d) in enumerate(asked))
    )
    out = tmp_path / "model"
    dev = ("--dev-index", index, "--dev-topics", topics, "--dev-qrels", qrels, "--dev-answers", answers)
    result = fit(out, "--steps", 4, "--dev-steps", 2, "--log-steps", 2, *dev)
    assert result.code == 0, result
    curves = report(out)["curves"]
    names = {f"dev_retrieval_{what}@{k}" for what in ("hits", "answer_accuracy") for k in (1, 5, 20, 100)}
    assert set(curves) == names | {
        DEV_LOSS,
        "train_loss_smoothed_nats_per_token",
        "dev_retrieval_questions",
    }
    assert not any(name.split("@")[0] in ("accuracy", "acc", "eval_accuracy") for name in curves)
    assert [step for step, _ in curves["dev_retrieval_hits@20"]] == [0, 2, 4]
    assert (out / "dev_retrieval.png").is_file()
    searcher = SealSearcher(index, str(out), config=PRESETS[DEFAULT_PRESET], device="cpu")
    for k in (1, 5):
        hits = searcher.batch_search([q for q, _ in asked], [str(i) for i in range(10)], k=k)
        found = [any(h.docid == d.id for h in hits[str(i)]) for i, (_, d) in enumerate(asked)]
        assert report(out)["figures"][f"dev_retrieval_hits@{k}"] == pytest.approx(sum(found) / 10)


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        (("--steps", 0), 2, "steps"),
        (("--lr", 0), 2, "learning_rate"),
        (("--targets", -1), 2, "targets"),
        (("--max-tokens", 600), 2, "max_tokens"),
        (("--max-minutes", 0), 2, "max_minutes"),
        (("--threads", 0), 2, "--threads"),
        (("--resume",), 2, "no checkpoint"),
        (("--dev-topics", "nq-dev"), 2, "--dev-index"),
        (("--dev-index", "x"), 2, "--dev-topics"),
        (("--data", "/none/such"), 1, "no complete training set"),
        (("--model", "./none"), 1, "no such model folder"),
        (("--max-tokens", 8), 1, "raise --max-tokens"),
    ],
)
def test_faults(fit: Fit, tmp_path: Path, options: tuple[object, ...], code: int, part: str) -> None:
    assert_fault(fit(tmp_path / "out", *options), code, part)
    assert not (tmp_path / "out" / "seal.json").exists()


def test_what_is_not_installed_is_named(fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_command, "find_spec", lambda name: None if name == "peft" else name)
    assert_fault(fit(tmp_path / "out", "--lora"), 2, "peft must be installed", "seal-ir[train]")


@pytest.mark.slow
def test_of_several_processes_one_writes(fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`torchrun` has every process save; the others' files would be moved away under their hands."""
    monkeypatch.setattr("transformers.TrainingArguments.should_save", property(lambda self: False))
    assert fit(tmp_path / "model", "--steps", 2, "--save-steps", 1).code == 0
    assert not list(tmp_path.rglob("trained.safetensors"))


def test_the_first_folder_of_an_output_is_never_made(fit: Fit) -> None:
    assert_fault(fit(Path("/nodir/model"), "--steps", 1), 2, "there is no folder /nodir; make it")
    assert not Path("/nodir").exists()


@pytest.mark.slow
def test_a_finished_run_is_not_overwritten(fit: Fit, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert fit(out, "--steps", 1).code == 0
    assert_fault(fit(out, "--steps", 2), 2, "holds a training run", "--resume")
    assert_fault(fit(out, "--steps", 2, "--resume", "--lora", 2), 1, "resume with the same options")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory, llama: Path) -> Path:
    """An adapter of one layer, written by hand."""
    folder = tmp_path_factory.mktemp("hand") / "adapter"
    folder.mkdir()
    tiny.save_tokenizer(folder)
    name = "base_model.model.model.layers.0.mlp.up_proj.lora_{}.weight"
    matrices = {name.format("A"): torch.ones(2, 32), name.format("B"): torch.ones(64, 2)}
    save_file(matrices, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 1, "base_model_name_or_path": str(llama)}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_an_adapter_adds_scale_times_its_product(adapter: Path, llama: Path) -> None:
    from seal_ir.lm.load import load_network
    from seal_ir.text.pretrained import find_model

    merged, base = (load_network(find_model(str(folder)), torch.float32) for folder in (adapter, llama))
    added = merged.model.layers[0].mlp.up_proj.weight - base.model.layers[0].mlp.up_proj.weight
    assert torch.allclose(added, torch.ones(64, 32), atol=1e-6)
    assert torch.equal(merged.model.layers[1].mlp.up_proj.weight, base.model.layers[1].mlp.up_proj.weight)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"peft_type": "IA3"}, "only LORA"),
        ({"use_dora": True}, "use_dora"),
        ({"rank_pattern": {"q": 2}}, "rank_pattern"),
        ({"r": 0}, "both must be numbers"),
        ({"base_model_name_or_path": None}, "names no base model"),
        ({"base_model_name_or_path": "./self"}, "no such model folder"),
    ],
)
def test_adapters_that_cannot_be_merged(
    adapter: Path, tmp_path: Path, change: dict[str, Any], part: str
) -> None:
    folder = shutil.copytree(adapter, tmp_path / "adapter")
    config = json.loads((folder / "adapter_config.json").read_text()) | change
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=part) as error:
        load_generator(str(folder), device="cpu")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("matrices", "part"),
    [
        ({"base_model.model.model.layers.9.mlp.up_proj.lora_A.weight": (2, 32)}, "does not fit"),
        ({"base_model.model.model.layers.0.mlp.up_proj.lora_A.weight": (2, 9)}, "does not fit"),
        ({"base_model.model.model.embed_tokens.weight": (2, 9)}, "no part of a LoRA matrix"),
    ],
)
def test_adapters_of_other_models(
    adapter: Path, tmp_path: Path, matrices: dict[str, tuple[int, int]], part: str
) -> None:
    folder = shutil.copytree(adapter, tmp_path / "adapter")
    values = {name: torch.ones(shape) for name, shape in matrices.items()}
    values |= {n.replace("lora_A", "lora_B"): torch.ones(64, 2) for n in matrices if "lora_A" in n}
    save_file(values, folder / "adapter_model.safetensors")
    with pytest.raises(ModelError, match=part):
        load_generator(str(folder), device="cpu")
    (folder / "adapter_model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ModelError, match="cannot be read"):
        load_generator(str(folder), device="cpu")
