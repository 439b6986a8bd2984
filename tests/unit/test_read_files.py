"""What readers read and write: predictions, the passages of a run, which reader a name means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import InputError, ModelError, UsageError
from seal_ir.lm import families
from seal_ir.read.contexts import (
    CollectionPassages,
    IndexPassages,
    Passages,
    check_passages,
    read_heads,
    wanted_of,
)
from seal_ir.read.predictions import Prediction, PredictionWriter, iter_predictions
from seal_ir.read.readers import reader_spec
from seal_ir.read.records import Answer, Citation, Context
from seal_ir.records import Query
from tests.helpers import tiny

TOPICS = [Query("q1", "who"), Query("q2", "where")]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.text("abc#0", min_size=1)
ANSWERS = st.builds(
    Answer, TEXTS, st.lists(st.builds(Citation, IDS, st.just(0), st.integers(0, 99), TEXTS)).map(tuple)
)


# predictions


@given(st.dictionaries(IDS, st.tuples(TEXTS, ANSWERS)))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, said: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("p") / "p.jsonl"
    written = [Prediction(qid, *rest) for qid, rest in said.items()]  # type: ignore[misc]
    with PredictionWriter(path) as writer:
        for prediction in written:
            writer.write(prediction)
    assert list(iter_predictions(path)) == written


def test_a_line_as_others_read_it(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    with PredictionWriter(path) as writer:
        writer.write(Prediction("q1", "who", Answer("Paris", (Citation("d1", 0, 5, "Paris"),))))
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "qid": "q1",
        "question": "who",
        "answer": "Paris",
        "citations": [{"docid": "d1", "start": 0, "end": 5, "text": "Paris"}],
    }


def test_predictions_of_others_need_no_question_and_no_citations(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"qid": "a", "answer": "x"}\n', encoding="utf-8")
    assert list(iter_predictions(path)) == [Prediction("a", "", Answer("x"))]


PLACE = '{"docid": "d", "start": 0, "end": 1, "text": "x"}'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"qid": "b"}', '"answer" is missing; it must be a string'),
        ('{"qid": "b", "answer": null}', '"answer" is None; it must be a string'),
        ('{"qid": "b", "answer": ["x"]}', "\"answer\" is ['x']; it must be a string"),
        ('{"qid": "b", "answer": "\\ud800"}', '"answer" is '),
        ('{"qid": "b", "answer": "x", "question": 1}', '"question" is 1; it must be a string'),
        ('{"qid": "b", "answer": "x", "citations": "d"}', "\"citations\" is 'd'; it must be a list"),
        ('{"qid": "b", "answer": "x", "citations": ["d"]}', "\"citations\" holds 'd'; it may hold"),
        (f'{{"qid": "b", "answer": "x", "citations": [{PLACE.replace("0", "2")}]}}', '"citations" holds'),
        (f'{{"qid": "b", "answer": "x", "citations": [{PLACE.replace("0", "0.5")}]}}', '"citations" holds'),
        ('{"answer": "x"}', "some records have an id and some have none"),
        ('{"qid": "a", "answer": "x"}', "question 'a' comes twice, first at "),
        ("[]", "a JSON object is needed"),
        ('{"qid": "b", ', "not JSON"),
    ],
)
def test_lines_that_are_no_predictions(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"qid": "a", "answer": "x"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InputError) as error:
        list(iter_predictions(path))
    assert str(error.value).startswith(f"{path}:2: {told}")
    assert "\n" not in str(error.value)


# passages


def run(folder: Path, text: str) -> Path:
    path = folder / "run.trec"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_first_passages_of_each_topic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run(tmp_path, "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 3 t\nq1 Q0 d4 3 2 t\nq9 Q0 d1 1 1 t\n")
    heads = read_heads(path, TOPICS, 2)
    assert heads == {"q1": ["d2", "d4"], "q2": []}  # by score, as trec_eval ranks
    assert wanted_of({**heads, "q3": ["d4", "d5"]}) == ["d2", "d4", "d5"]
    told = capsys.readouterr().err
    assert told == f"{path}: 1 of 2 topics have no passages, and are asked without: q2\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the run is empty; there is nothing to read"),
        (
            "x1 Q0 d1 1 1 t\n",
            "0 of 2 topics in run (they are like 'q1', the run's like 'x1'); the ids",
        ),
    ],
)
def test_runs_with_nothing_to_read(tmp_path: Path, text: str, told: str) -> None:
    path = run(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_heads(path, TOPICS, 2)
    assert str(error.value).startswith(f"{path}: {told}")


@pytest.fixture(params=["index", "collection"])
def passages(request: pytest.FixtureRequest, tiny_index: Path, tmp_path: Path) -> Passages:
    if request.param == "index":
        return IndexPassages(tiny_index)
    path = tmp_path / "corpus.jsonl"
    records = [{"id": d.id, "title": d.title, "text": d.text} for d in tiny.DOCUMENTS]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return CollectionPassages("JsonCollection", path, ["d4", "d3#0", "nowhere"])


def test_texts_come_in_the_order_of_their_ids(passages: Passages) -> None:
    assert passages.read(["d4", "d3#0", "d4"]) == [
        Context("d4", "Tokyo", tiny.SENTENCES[3]),
        Context("d3#0", "", tiny.SENTENCES[2]),
        Context("d4", "Tokyo", tiny.SENTENCES[3]),
    ]
    assert passages.read([]) == []


def test_a_run_of_passages_that_are_not_there(passages: Passages) -> None:
    check_passages(Path("run"), {"q1": ["d4"], "q2": []}, passages)
    with pytest.raises(InputError) as error:
        check_passages(Path("run"), {"q1": ["d4", "nowhere"], "q2": ["nowhere"]}, passages)
    assert str(error.value) == (
        f"run: 1 of its 2 passages, such as 'nowhere', are not in {passages.name}; name the index or"
        " collection that was searched"
    )


# readers


def folder(path: Path, config: str) -> str:
    path.mkdir()
    (path / "config.json").write_text(config, encoding="utf-8")
    return str(path)


def test_what_names_of_readers_mean(tmp_path: Path, llama: Path) -> None:
    assert reader_spec("prompt") == ("prompt", "smollm2-135m", False)
    assert reader_spec("prompt", quote=True).quote
    assert reader_spec("smollm2-135m-rank").kind == "prompt"
    assert reader_spec(str(llama)) == ("prompt", str(llama), False)
    seq2seq = folder(tmp_path / "t5", '{"model_type": "t5"}')  # which need not say that it has a decoder
    assert reader_spec(seq2seq) == ("fid", seq2seq, False)
    assert reader_spec(seq2seq).default_contexts == 100


def test_names_that_mean_no_reader(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="^--reader fid names no model; give the folder of one"):
        reader_spec("fid")
    with pytest.raises(ModelError, match="no such model folder"):
        reader_spec(str(tmp_path / "nowhere"))
    seq2seq = folder(tmp_path / "t5", '{"model_type": "t5"}')
    with pytest.raises(UsageError, match="--quote is for prompt readers"):
        reader_spec(seq2seq, quote=True)


CONFIGS = {
    "llama": ('{"model_type": "llama"}', "prompt"),
    "bart": ('{"model_type": "bart"}', "fid"),
    "bert that writes": ('{"model_type": "bert", "is_decoder": true}', "prompt"),
    "bert": ('{"model_type": "bert"}', "bert is neither a causal nor an encoder-decoder language model"),
    "speech": ('{"model_type": "whisper"}', "whisper is neither a causal nor an encoder-decoder"),
    "vectors": ('{"model_type": "t5", "is_encoder_decoder": false}', "t5 is neither a causal nor"),
    "no kind": ("{}", "the model cannot be loaded from this "),
    "unknown": ('{"model_type": "x"}', "the model cannot be loaded from this "),
    "no JSON": ("{", "the model cannot be loaded from this "),
}


@pytest.mark.parametrize("is_hub_name", [False, True], ids=["folder", "hub name"])
@pytest.mark.parametrize(("config", "wanted"), CONFIGS.values(), ids=CONFIGS)
def test_the_configuration_says_how_a_model_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, wanted: str, is_hub_name: bool
) -> None:
    """Of a folder, and of a name of the hub, whose files are in its cache."""
    name = folder(tmp_path / "model", config)
    if is_hub_name:
        monkeypatch.setattr(families, "reachable_source", lambda files, source=name: source)
        name = "someone/their-model"
    if wanted in ("prompt", "fid"):
        assert reader_spec(name).kind == wanted
        return
    with pytest.raises(ModelError) as error:
        reader_spec(name)
    assert str(error.value).startswith(f"{name}: ")
    assert wanted in str(error.value)
    assert "\n" not in str(error.value)


def test_an_adapter_reads_as_its_base(tmp_path: Path) -> None:
    base = folder(tmp_path / "t5", '{"model_type": "t5"}')
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": base}), encoding="utf-8"
    )
    assert reader_spec(str(adapter)).kind == "fid"
