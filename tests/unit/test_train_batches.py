"""Trees, batches and token ids: one sequence for several targets is as good as each on its own."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM

from seal_ir.errors import InputError, UsageError
from seal_ir.lm.choose import can_hold_trees
from seal_ir.lm.load import wire
from seal_ir.records import BODY, TITLE, Document
from seal_ir.text.symbols import BOUNDARY, TITLE_END, to_symbols
from seal_ir.train.data.dataset import finish, load_dataset, open_directory, write_parts
from seal_ir.train.data.examples import Example, ExampleOptions, document_examples, pair_examples
from seal_ir.train.data.pairs import DISTANT, SUPERVISED, UNSUPERVISED, Pair
from seal_ir.train.data.prompts import training_prompts
from seal_ir.train.fit import batches
from seal_ir.train.fit.batches import BatchOptions, TrainingSet, chunks, cut, pass_order
from seal_ir.train.fit.collate import collate_rows, collate_trees
from seal_ir.train.fit.encoding import Encoder
from seal_ir.train.fit.network import TargetLoss
from seal_ir.train.fit.stream import BatchStream
from seal_ir.train.fit.trees import Encoded, plant, side_by_side, tree_size
from tests.helpers import oracle, tiny

GROUP = [
    Encoded((1, 2, 3, 4), (7, 8)),
    Encoded((1, 2, 3, 4), (9,)),
    Encoded((1, 2, 5, 6, 6), (7, 8, 9)),
]


@pytest.fixture(scope="module")
def network(llama: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(llama).eval()


@pytest.fixture(scope="module")
def encoder(network: Any) -> Encoder:
    prompts = training_prompts("causal", None)
    return Encoder(wire(network, tiny.tokenizer(), prompts.description), prompts, 2)


def make_set(folder: Path) -> TrainingSet:
    """Twelve pairs and thirty documents."""
    items: list[Pair | Document] = [
        Pair(f"where is place {i}", f"Place {i}", tiny.SENTENCES[i % 5] + " and more", SUPERVISED)
        for i in range(12)
    ]
    items += [
        Document(f"d{i}", f"Title {i}", f"{tiny.SENTENCES[i % 5]} It is number {i}.") for i in range(30)
    ]
    open_directory(folder, {})

    def examples_of(item: Any, rng: np.random.Generator) -> list[Example]:
        make = pair_examples if isinstance(item, Pair) else document_examples
        return make(item, ExampleOptions(span_words=4), rng)  # type: ignore[operator]

    write_parts(folder, items, examples_of, 0)
    finish(folder, {})
    return TrainingSet(load_dataset(folder))


@pytest.fixture(scope="module")
def training_set(tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    return make_set(tmp_path_factory.mktemp("set") / "set")


def test_a_tree_holds_the_shared_beginning_once() -> None:
    tree = plant(GROUP)
    assert tree.tokens.tolist() == [1, 2, 3, 4, 7, 3, 4, 5, 6, 6, 7, 8]
    assert tree.positions.tolist() == [0, 1, 2, 3, 4, 2, 3, 2, 3, 4, 5, 6]
    assert tree.parents.tolist() == [-1, -1, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2]
    assert list(zip(tree.predict.tolist(), tree.labels.tolist(), strict=True)) == [
        (3, 7), (4, 8), (6, 9), (9, 7), (10, 8), (11, 9),
    ]  # fmt: skip
    assert tree_size(GROUP) == 12


def test_a_token_sees_its_own_sequence_and_nothing_else() -> None:
    tree = plant(GROUP)
    visible = tree.visible()
    for at in range(len(tree.tokens)):
        seen = np.flatnonzero(visible[at])
        assert tree.positions[seen].tolist() == list(range(tree.positions[at] + 1))
        branch = int(tree.parents[at])
        sequence = [*GROUP[max(branch, 0)].prompt, *GROUP[max(branch, 0)].target]
        assert tree.tokens[seen].tolist() == sequence[: len(seen)]


def test_prompts_that_are_equal_leave_each_branch_its_last_token() -> None:
    tree = plant([Encoded((1, 2), (3,)), Encoded((1, 2), (4,))])
    assert tree.tokens.tolist() == [1, 2, 2]
    assert tree.predict.tolist() == [1, 2]


def test_padding_sees_itself_only() -> None:
    batch = side_by_side([plant(GROUP), plant(GROUP[1:2])])
    assert batch.tokens.shape == (2, 12)
    assert batch.visible[1, 6].tolist() == [i == 6 for i in range(12)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_f1_the_loss_of_trees_is_that_of_sequences(network: Any, smoothing: float) -> None:
    """Loss and nats of a batch of trees against one forward pass a sequence, logits taken everywhere."""
    groups = [GROUP, [Encoded((11, 12), (13, 14, 15, 16))]]
    losses, nats = [], 0.0
    for prompt, target, _ in (sequence for group in groups for sequence in group):
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([[*prompt, *target]])).logits[0]
        wanted = logits[len(prompt) - 1 : -1]
        labels = torch.tensor(target)
        losses += torch.nn.functional.cross_entropy(
            wanted, labels, label_smoothing=smoothing, reduction="none"
        ).tolist()
        nats += float(torch.nn.functional.cross_entropy(wanted, labels, reduction="sum"))
    model = TargetLoss(network, smoothing)
    assert model._split
    for batch in (collate_trees(groups, torch.float32), collate_rows(groups)):
        with torch.no_grad():
            found = model(**batch)
        assert float(found["loss"]) == pytest.approx(np.mean(losses), abs=1e-5)
        assert float(found["nats"]) == pytest.approx(nats, abs=1e-4)


_SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
_WINDOW = 8  # as many tokens as the longest sequence of GROUP


@pytest.mark.parametrize(
    ("name", "settings", "holds"),
    [
        ("Mistral", _SMALL | {"num_key_value_heads": 2, "sliding_window": _WINDOW}, True),
        ("Gemma2", _SMALL | {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": _WINDOW}, True),
        # Its attention goes by places in the sequence, whatever the mask says.
        ("GPTNeo", {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": _WINDOW,
                    "attention_types": [[["global", "local"], 1]]}, False),
    ],
)  # fmt: skip
def test_windows_that_hold_every_sequence_hold_their_tree(
    name: str, settings: dict[str, Any], holds: bool
) -> None:
    """The tree itself is longer than the window: a branch's place in it must not count."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=32, bos_token_id=0, eos_token_id=0, pad_token_id=0, **settings
    )
    network: Any = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.3)
        model = TargetLoss(network, 0.0)
        trees, rows = (
            float(model(**batch)["nats"])
            for batch in (collate_trees([GROUP], torch.float32), collate_rows([GROUP]))
        )
    assert max(sequence.n_tokens for sequence in GROUP) == _WINDOW < tree_size(GROUP)
    assert can_hold_trees(network, _WINDOW) is holds
    assert (trees == pytest.approx(rows, abs=1e-3)) is holds
    assert not can_hold_trees(network, _WINDOW + 1)


def test_targets_are_tokenised_as_in_the_index(encoder: Encoder, tiny_index: Path) -> None:
    """A span is an n-gram of its document's stream, and a title is all of its title, end included."""
    from seal_ir.index.reader import Index

    index = Index(tiny_index)
    streams = [stream.tolist() for stream in index.streams(range(index.n_documents))]
    rng = np.random.default_rng(0)
    n = {BODY: 0, TITLE: 0}
    for document in tiny.DOCUMENTS:
        examples = document_examples(document, ExampleOptions(span_words=3, lower=0), rng)
        for example, encoded in zip(examples, encoder(examples), strict=True):
            n[example.field] += 1
            if example.field == BODY:
                assert oracle.count(streams, tuple(to_symbols(list(encoded.target)).tolist())) >= 1
            else:
                assert encoded.target[-1] == tiny.tokenizer().encode("\n")[0]
                title = to_symbols(list(encoded.target[:-1])).tolist()
                assert oracle.count(streams, (BOUNDARY, *title, TITLE_END)) >= 1
    assert min(n.values()) >= 8


def test_prompts_say_field_and_kind(encoder: Encoder) -> None:
    examples = [
        Example("q?", "t", f, kind) for kind in (SUPERVISED, UNSUPERVISED, DISTANT) for f in (BODY, TITLE)
    ]
    prompts = [tiny.tokenizer().decode(encoded.prompt) for encoded in encoder(examples)]
    assert prompts[:2] == ["<s>question: q?\npassage:", "<s>question: q?\narticle:"]
    assert len(set(prompts)) == 6
    assert all("q?\n" in prompt for prompt in prompts)


def test_seq2seq_prompts_are_the_papers_markers() -> None:
    prompts = training_prompts("seq2seq", None)
    assert prompts.description.body == "{query} || body || +"
    assert prompts.template(TITLE, UNSUPERVISED) == "{query} || title || p"
    assert prompts.template(BODY, DISTANT) == "{query} || body || ?"


@pytest.mark.parametrize("tokens", [40, 100, 1000])
def test_batches_hold_every_group_once_within_their_size(tokens: int) -> None:
    rng = np.random.default_rng(0)
    groups = [
        [Encoded(tuple(range(1 + n % 7)), tuple(range(1 + n % 5)))] * (1 + n % 3)
        for n in rng.permutation(200)
    ]
    found = cut(groups, tokens)
    assert sorted(map(repr, (group for batch in found for group in batch))) == sorted(map(repr, groups))
    sizes = [collate_trees(batch, torch.float32)["input_ids"].numel() for batch in found]
    assert max(sizes) <= tokens
    assert len(found) <= 1.2 * sum(map(tree_size, groups)) / tokens + 15


def test_a_pass_has_every_group_once(training_set: TrainingSet) -> None:
    orders = [
        pass_order(training_set, BatchOptions(seed=seed), n).tolist() for seed, n in ((0, 0), (0, 1), (1, 0))
    ]
    assert [sorted(order) for order in orders] == [list(range(42))] * 3
    assert orders[0] != orders[1]
    assert orders[0] != orders[2]


def test_an_unsupervised_share_goes_round_all_documents(training_set: TrainingSet) -> None:
    options = BatchOptions(unsupervised_share=0.25)
    orders = [pass_order(training_set, options, n) for n in range(15)]
    for order in orders:
        assert sorted(set(order) & set(range(12))) == list(range(12))
        assert len(order) == 16
    counts = np.bincount(np.concatenate(orders), minlength=42)[12:]
    assert counts.tolist() == [2] * 30
    assert sorted(pass_order(training_set, BatchOptions(unsupervised_share=0.0), 3)) == list(range(12))


def test_targets_of_a_pass_are_different_rows(training_set: TrainingSet) -> None:
    rng = np.random.default_rng(0)
    assert {len(training_set.examples(20, n, rng)) for n in (0, 9)} == {5}
    drawn = [training_set.examples(20, 2, rng) for _ in range(100)]
    assert {len(set(examples)) for examples in drawn} == {2}
    assert len({example for examples in drawn for example in examples}) == 5
    parts = training_set.only(np.array([1, 20])), training_set.without(np.array([1, 20]))
    assert [len(part) for part in parts] == [2, 40]
    assert not set(pass_order(parts[0], BatchOptions(), 0)) & set(pass_order(parts[1], BatchOptions(), 0))


def test_a_stream_is_the_same_wherever_it_is_read_from(
    training_set: TrainingSet, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK", 16)
    options = BatchOptions(tokens=300, targets=2, max_tokens=200)

    def make() -> Any:
        return chunks(training_set, options, encoder, share=True)

    flat = list(islice((batch for chunk in make() for batch in chunk), 40))
    stream = BatchStream(make, 40)
    assert len(stream) == 40
    assert [stream[i] for i in range(40)] == flat
    assert [stream[i] for i in (39, 5, 6, 0)] == [flat[i] for i in (39, 5, 6, 0)]
    other = BatchOptions(tokens=300, targets=2, max_tokens=200, seed=1)
    assert next(chunks(training_set, other, encoder, share=True)) != next(make())


def test_long_examples_are_left_out(training_set: TrainingSet, encoder: Encoder) -> None:
    options = BatchOptions(tokens=100, max_tokens=40)
    found = [
        sequence
        for batch in next(chunks(training_set, options, encoder, share=True))
        for g in batch
        for sequence in g
    ]
    assert found
    assert max(sequence.n_tokens for sequence in found) <= 40
    with pytest.raises(InputError, match="raise --max-tokens"):
        list(islice(chunks(training_set, BatchOptions(max_tokens=2), encoder, share=False), 3))


@pytest.mark.parametrize(
    "values",
    [{"tokens": 0}, {"targets": -1}, {"max_tokens": 1}, {"max_tokens": 5000}, {"unsupervised_share": 1.0}],
)
def test_options_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(values))):
        BatchOptions(**values)


def test_a_set_that_is_not_complete(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({}))
    with pytest.raises(InputError, match="no complete training set"):
        load_dataset(tmp_path)
