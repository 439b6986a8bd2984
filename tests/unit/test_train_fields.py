"""Training for further fields: their examples, prompts and ends, and what is left as it was without them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from seal_ir.errors import UsageError
from seal_ir.formats.topics.questions import question_words
from seal_ir.lm.load import load_generator, wire
from seal_ir.records import BODY, TITLE, Document
from seal_ir.text.description import CAUSAL, SEQ2SEQ, SEQ2SEQ_TEMPLATE, read_description
from seal_ir.train.__main__ import main
from seal_ir.train.data.dataset import load_dataset
from seal_ir.train.data.examples import Example, ExampleOptions, document_examples, pair_examples
from seal_ir.train.data.pairs import DISTANT, SUPERVISED, UNSUPERVISED, Pair
from seal_ir.train.data.prompts import training_prompts
from seal_ir.train.fit.encoding import Encoder
from tests.helpers import tiny, training
from tests.helpers.commands import Result, Runner, assert_fault

QUERIES = [f"which river is number {i}" for i in range(5)]
DOCID_ONLY = ("--spans", 0, "--titles", 0, "--document-spans", 0, "--document-titles", 0)
FAST = ("--tokens", 500, "--max-tokens", 120, "--lr", "5e-3", "--warmup", 5, "--clip", 1)
Make = Callable[..., Result]


def records() -> list[dict[str, Any]]:
    """The ten places, each with a way down a tree and, but for the first, with queries."""
    return [
        {
            "id": document.id,
            "title": document.title,
            "contents": document.text,
            "path": f"{i % 3} {i // 3} {i}",
            **({"pseudo_queries": [*QUERIES, f"Where is {document.title}?!", " "]} if i else {}),
        }
        for i, document in enumerate(training.DOCUMENTS)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, pairs for all questions, and judgements that are guesses for some."""
    folder = tmp_path_factory.mktemp("fields")
    write(folder / "corpus.jsonl", *records())
    asked = training.questions()
    write(folder / "pairs.jsonl", *({"question": q, "positive_ids": [d.id]} for q, d in asked))
    (folder / "topics.tsv").write_text("1\twhat flows through Tokyo\n", encoding="utf-8")
    (folder / "guessed.trec").write_text("1 0 p2 1\n", encoding="utf-8")
    return folder


@pytest.fixture
def make(call: Runner, folder: Path) -> Make:
    def run(output: Path, *options: object) -> Result:
        sources = ("--pairs", folder / "pairs.jsonl", "--input", folder / "corpus.jsonl")
        return call(main, "data", *sources, "--output", output, *options)

    return run


def write(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def rows(directory: Path) -> list[dict[str, Any]]:
    return [dict(row) for row in load_dataset(directory)]


def settings(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / "settings.json").read_text(encoding="utf-8")))


def test_values_are_targets_of_questions_spans_and_texts(make: Make, folder: Path, tmp_path: Path) -> None:
    guesses = ("--distant", folder / "topics.tsv", folder / "guessed.trec")
    result = make(tmp_path, "--unsupervised", *guesses, "--fields", "path", "pseudo_queries")
    assert result.code == 0, result
    assert "examples, supervised path: 120" in result.err.splitlines()  # three for each of forty
    assert settings(tmp_path)["fields"] == ["path", "pseudo_queries"]
    found = rows(tmp_path)
    for document, record in zip(training.DOCUMENTS, records(), strict=True):
        question = f"where is {document.title}"
        assert [r["target"] for r in found if (r["source"], r["field"]) == (question, "path")] == [
            record["path"]
        ] * 3
    # No value twice, none that is blank, none that the question is itself.
    queries = [r for r in found if r["field"] == "pseudo_queries" and r["kind"] == SUPERVISED]
    assert set(Counter((r["source"], r["target"]) for r in queries).values()) == {1}
    assert set(Counter(r["source"] for r in queries).values()) == {3}
    assert all(
        r["target"].strip() and question_words(r["target"]) != question_words(r["source"]) for r in queries
    )
    assert any(r["target"].startswith("Where is") for r in queries)
    assert {r["target"] for r in found if r["kind"] == DISTANT and r["field"] == "path"} == {"2 0 2"}
    # Of a document, a span and the whole text for each field.
    of_documents = [r for r in found if r["kind"] == UNSUPERVISED and r["field"] == "path"]
    assert len(of_documents) == 20
    for (span, text), document in zip(
        zip(of_documents[::2], of_documents[1::2], strict=True), training.DOCUMENTS, strict=True
    ):
        assert text["source"].lower() == document.text.lower()
        assert span["source"].lower() in document.text.lower()
        assert len(span["source"].split()) == 10
        assert span["target"] == text["target"]


def test_other_examples_are_the_same_with_and_without_fields(make: Make, tmp_path: Path) -> None:
    for name, options in (("with", ("--fields", "pseudo_queries", "path")), ("without", ())):
        assert make(tmp_path / name, "--unsupervised", *options).code == 0
    usual = [row for row in rows(tmp_path / "with") if row["field"] in (BODY, TITLE)]
    assert usual == rows(tmp_path / "without")
    assert len(rows(tmp_path / "with")) > len(usual)


def test_settings_without_fields_are_those_of_earlier_versions(make: Make, tmp_path: Path) -> None:
    assert make(tmp_path).code == 0
    found = settings(tmp_path)
    assert list(found) == [
        *("version", "seed", "options", "pairs", "judged", "collection"),
        *("knowledge_source", "unsupervised", "documents", "exclude"),
    ]
    assert list(found["options"]) == [
        *("spans", "span_words", "temperature", "titles", "document_spans", "lower"),
    ]
    assert_fault(make(tmp_path, "--fields", "path"), 2, "other settings")
    assert_fault(make(tmp_path, "--document-titles", 2), 2, "other settings")


def test_a_set_of_one_field_only(call: Runner, make: Make, folder: Path, tmp_path: Path) -> None:
    unlike = write(tmp_path / "unlike.jsonl", {"question": "xyz", "positive_ids": ["p1"]})  # matches nothing
    options = ("--fields", "path", *DOCID_ONLY)
    assert (
        make(tmp_path / "set", "--unsupervised", "--pairs", folder / "pairs.jsonl", unlike, *options).code
        == 0
    )
    found = rows(tmp_path / "set")
    assert {row["field"] for row in found} == {"path"}
    assert Counter(row["kind"] for row in found) == {SUPERVISED: 41 * 3, UNSUPERVISED: 20}
    for name, extra, n in (("one", ("--values", 1), 40), ("none", ("--values", 0, "--unsupervised"), 0)):
        assert make(tmp_path / name, *options, *extra).code == 0
        assert len([row for row in rows(tmp_path / name) if row["kind"] == SUPERVISED]) == n


def test_titles_of_documents_are_as_many_as_asked_for(make: Make, tmp_path: Path) -> None:
    for n, expected in ((0, 0), (2, 30)):
        options = ("--unsupervised", "--document-titles", n, "--document-spans", 1)
        assert make(tmp_path / str(n), *options).code == 0
        found = [row["field"] for row in rows(tmp_path / str(n)) if row["kind"] == UNSUPERVISED]
        assert Counter(found) == {BODY: 10} | ({TITLE: expected} if expected else {})


def test_passages_that_differ_in_a_field_are_two(call: Runner, folder: Path, tmp_path: Path) -> None:
    twins = [{**records()[1], "id": f"twin{i}", "path": str(i)} for i in range(2)]
    corpus = write(tmp_path / "twins.jsonl", *twins)
    pairs = write(tmp_path / "pairs.jsonl", {"question": "where", "positive_ids": ["twin0", "twin1"]})
    for name, options, n in (("with", ("--fields", "path"), 2), ("without", (), 1)):
        sources = ("--pairs", pairs, "--input", corpus, "--output", tmp_path / name)
        assert f"pairs: {n}" in call(main, "data", *sources, *options).err.splitlines()


@pytest.mark.parametrize(
    ("options", "code", "parts"),
    [
        (("--fields", "title"), 2, ("'title' is no further field",)),
        (("--fields", "path", "path"), 2, ("named twice",)),
        (("--fields", "pth"), 1, ("no value of the field 'pth'", "check its name")),
        (("--fields", "number"), 1, ("none of the 10", "corpus.jsonl:1", '"number" is 7')),
        (("--fields", "path", "--collection", "TsvCollection"), 2, ("no further fields such as 'path'",)),
        (("--fields", "path", "--values", -1), 2, ("values is -1",)),
        (("--document-titles", -1), 2, ("document_titles is -1",)),
    ],
)
def test_faults_of_data(
    call: Runner, folder: Path, tmp_path: Path, options: tuple[object, ...], code: int, parts: tuple[str, ...]
) -> None:
    write(tmp_path / "corpus.jsonl", *({**record, "number": 7} for record in records()))
    (tmp_path / "corpus.tsv").write_text("p0\ta\tb\n", encoding="utf-8")
    suffix = ".tsv" if "TsvCollection" in options else ".jsonl"
    sources = ("--pairs", folder / "pairs.jsonl", "--input", tmp_path / f"corpus{suffix}")
    assert_fault(call(main, "data", *sources, "--output", tmp_path / "set", *options), code, *parts)
    assert not (tmp_path / "set" / "prepared.json").exists()


def test_fields_need_a_collection(call: Runner, folder: Path, tmp_path: Path) -> None:
    arguments = ("--pairs", folder / "pairs.jsonl", "--fields", "path", "--output", tmp_path / "set")
    assert_fault(call(main, "data", *arguments), 2, "--fields", "give --input")


VALUES = st.lists(st.sampled_from(["1 2", "What is it?", "what IS it", "a", "b", "c"]), max_size=5)


@given(VALUES, st.integers(0, 6), st.integers(0, 99))
def test_as_many_values_as_asked_for_and_as_different_as_there_are(
    values: list[str], n: int, seed: int
) -> None:
    further = tuple(("f", value) for value in values)
    options = ExampleOptions(values=n, span_words=3)
    plain = Pair("what is it", "T", "one two three four five", SUPERVISED)
    rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
    usual = pair_examples(plain, options, same)
    found = pair_examples(plain._replace(further=further), options, rng)
    assert found[: len(usual)] == usual
    usable = {value for value in values if not value.lower().startswith("what")}
    drawn = Counter(example.target for example in found[len(usual) :])
    assert drawn.total() == (n if usable else 0)
    assert drawn.keys() <= usable
    assert len(drawn) == min(n, len(usable))
    assert max(drawn.values(), default=0) - min(drawn.values(), default=0) <= 1
    document = Document("d", "T", plain.text, further=further)
    written = [e for e in document_examples(document, options, rng) if e.field == "f"]
    assert len(written) == (2 if values else 0)
    assert len({e.target for e in written}) == min(2, len(set(values)))


def test_prompts_name_the_field() -> None:
    for family, kinds in {
        CAUSAL: {
            SUPERVISED: "question: {query}\npseudo queries:",
            UNSUPERVISED: "text: {query}\npseudo queries:",
            DISTANT: "question: {query}\npseudo queries?",
        },
        SEQ2SEQ: {
            SUPERVISED: "{query} || pseudo queries || +",
            UNSUPERVISED: "{query} || pseudo queries || p",
            DISTANT: "{query} || pseudo queries || ?",
        },
    }.items():
        prompts = training_prompts(family, None, ["docid", "pseudo_queries"])
        assert {kind: prompts.template("pseudo_queries", kind) for kind in kinds} == kinds
        assert list(prompts.description.fields) == ["docid", "pseudo_queries"]
        assert prompts.description.prompt("pseudo_queries") == kinds[SUPERVISED]
        usual = training_prompts(family, None)
        assert (usual.templates, usual.description.fields) == (prompts.templates, {})


def test_fields_of_the_model_and_their_prompts_are_kept() -> None:
    own = replace(SEQ2SEQ_TEMPLATE, fields=MappingProxyType({"old": "{query} old", "docid": "which {query}"}))
    prompts = training_prompts(SEQ2SEQ, own, ["docid", "new"])
    assert prompts.description.fields == {
        "old": "{query} old",
        "docid": "which {query}",
        "new": "{query} || new || +",
    }
    assert prompts.template("docid", SUPERVISED) == "which {query}"
    assert prompts.template("docid", UNSUPERVISED) == "{query} || docid || p"


@pytest.mark.parametrize("fields", [("article",), ("passage",), ("a_b", "a b")])
def test_fields_with_one_prompt_are_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="have the same prompt"):
        training_prompts(CAUSAL, None, fields)


@pytest.mark.parametrize(("save", "end"), [(tiny.save_llama, ()), (training.save_bart, (2,))])
def test_values_are_tokenised_as_in_an_index_and_end_as_titles(
    save: Callable[[Path], Path], end: tuple[int, ...], tmp_path: Path
) -> None:
    auto: Any = AutoModelForSeq2SeqLM if end else AutoModelForCausalLM
    network = auto.from_pretrained(save(tmp_path)).eval()
    prompts = training_prompts(SEQ2SEQ if end else CAUSAL, None, ["docid"])
    generator = wire(network, tiny.tokenizer(), prompts.description)
    value, title = Encoder(generator, prompts, 2)(
        [Example("q", "3 7 0", "docid", SUPERVISED), Example("q", "3 7 0", TITLE, SUPERVISED)]
    )
    (tokens,) = tiny.tokenizer().encode_fields(["3 7 0"])
    closing = (generator.title_end, *end) if (generator.title_end, *end) != (2, 2) else (2,)
    assert value.target == title.target == (*tokens, *closing)
    assert value.prompt != title.prompt


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Can't initialize NVML")
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's
def test_a_model_is_told_of_the_fields_of_its_set(call: Runner, make: Make, tmp_path: Path) -> None:
    assert make(tmp_path / "paths", "--fields", "path", *DOCID_ONLY).code == 0
    assert make(tmp_path / "queries", "--fields", "pseudo_queries").code == 0
    assert make(tmp_path / "plain").code == 0
    llama = tiny.save_llama(tmp_path / "llama")

    def fit(name: str, data: str, *options: object) -> Result:
        folders = ("--data", tmp_path / data, "--output", tmp_path / name)
        return call(main, "fit", *folders, *FAST, "--lora", 4, *options)

    result = fit("first", "paths", "--model", llama, "--steps", 40)
    assert result.code == 0, result
    report = json.loads((tmp_path / "first" / "training.json").read_text(encoding="utf-8"))
    losses = [loss for _, loss in report["curves"]["dev_loss_nats_per_token"]]
    assert losses[-1] < losses[0] - 0.2
    assert report["field_prompts"]["path"]["unsupervised"] == "text: {query}\npath:"
    assert load_generator(str(tmp_path / "first"), device="cpu").description.prompt("path") == (
        "question: {query}\npath:"
    )
    # What it was told before stays when it is trained further, on other fields or on none.
    both = {"path": "question: {query}\npath:", "pseudo_queries": "question: {query}\npseudo queries:"}
    assert fit("second", "queries", "--model", tmp_path / "first", "--steps", 2).code == 0
    assert read_description(tmp_path / "second" / "seal.json").fields == both
    dev = ("--dev-data", tmp_path / "paths")
    assert fit("third", "plain", "--model", tmp_path / "second", "--steps", 2, *dev).code == 0
    assert read_description(tmp_path / "third" / "seal.json").fields == both
    # A dev loss of what is never learnt would say nothing.
    fault = fit("fourth", "plain", "--model", llama, "--steps", 2, *dev)
    assert_fault(fault, 2, "the field 'path'", "--dev-data")
    write(tmp_path / "plain" / "settings.json", {"fields": "path"})
    assert_fault(fit("fifth", "plain", "--model", llama), 1, "settings.json", "'path'", "list of names")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Can't initialize NVML")
def test_a_sequence_to_sequence_model_too(call: Runner, make: Make, tmp_path: Path) -> None:
    assert make(tmp_path / "set", "--fields", "path", "pseudo_queries", "--unsupervised").code == 0
    bart = training.save_bart(tmp_path / "bart")
    folders = ("--data", tmp_path / "set", "--model", bart, "--output", tmp_path / "model")
    result = call(main, "fit", *folders, *FAST, "--steps", 10)
    assert result.code == 0, result
    assert load_generator(str(tmp_path / "model"), device="cpu").description.fields == {
        "path": "{query} || path || +",
        "pseudo_queries": "{query} || pseudo queries || +",
    }
