"""Key files: what is refused, in one line that names file and line, and when a search may use keys."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seal_ir.config import PRESETS, SearchConfig
from seal_ir.errors import InputError, ModelError, UsageError
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.index.reader import Index
from seal_ir.keys.files import (
    KeyReader,
    KeyWriter,
    file_to_read,
    file_to_write,
    iter_records,
    provenance_file,
)
from seal_ir.keys.lookup import look_up
from seal_ir.keys.provenance import KeyProvenance, model_identity, read_provenance, write_provenance
from seal_ir.keys.record import from_line, to_line
from seal_ir.records import BODY, NO_UNIGRAMS, Key, Query, QueryKeys
from seal_ir.search.stored import StoredKeys
from tests.helpers import tiny
from tests.helpers.keys import assert_equal, random_keys, write

QUERIES = [Query(f"q{i}", f"query {i} “é”\t\x00") for i in range(4)]
SETTINGS = SearchConfig()


@pytest.fixture(scope="module")
def index(tiny_index: Path) -> Index:
    return Index(tiny_index)


@pytest.fixture
def path(index: Index, tmp_path: Path) -> Path:
    """A file of four queries."""
    write(tmp_path / "embeddings.jsonl", index, [(q, random_keys(index, i)) for i, q in enumerate(QUERIES)])
    return tmp_path / "embeddings.jsonl"


def edit(path: Path, line: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the values of one line, counted from 1."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    values = json.loads(lines[line - 1])
    change(values)
    lines[line - 1] = json.dumps(values) + "\n"
    path.write_text("".join(lines), encoding="utf-8")


def stored(path: Path, index: Index, topics: list[Query] = QUERIES, **options: Any) -> StoredKeys:
    return StoredKeys(path, index, topics, [SETTINGS], **options)


def test_keys_of_topics_in_any_order_and_batch(path: Path, index: Index) -> None:
    expected = [random_keys(index, i) for i in range(4)]
    for order in ([0, 1, 2, 3], [3, 1, 0], [2]):
        topics = [QUERIES[i] for i in order]
        source = stored(path, index, topics)
        found = [keys for topic in topics for keys in source.decoded([topic]).queries]
        together = stored(path, index, topics).decoded(topics)
        assert together.cut == {}
        for i, ours, theirs in zip(order, found, together.queries, strict=True):
            assert_equal(ours, expected[i])
            assert_equal(theirs, expected[i])


def test_lines_in_the_order_of_the_topics_are_not_kept(path: Path, index: Index) -> None:
    made = read_provenance(provenance_file(path)).fingerprint
    reader = KeyReader(path, made, ["q1", "q3"])
    assert reader.take(QUERIES[1])[0] == 2
    assert reader._early == {}
    assert reader.take(QUERIES[3])[0] == 4
    assert reader._early == {}
    early = KeyReader(path, made, ["q0", "q2"])
    early.take(QUERIES[2])
    assert list(early._early) == ["q0"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda v: v.update(keys=[["body", 1]]), '"keys" holds ['),
        (lambda v: v.update(keys=[["unigram", -1.0, [20]]]), "the kind one of body, title, query"),
        (lambda v: v.update(keys=[["body", float("nan"), [20]]]), '"keys" holds'),
        (lambda v: v.update(keys=[["body", 10**400, [20]]]), '"keys" holds'),
        (lambda v: v.update(keys=[["body", -1.0, []]]), '"keys" holds'),
        (lambda v: v.update(keys=[["body", -1.0, [-3]]]), '"keys" holds'),
        (lambda v: v.update(keys=[[["body"], -1.0, [20]]]), '"keys" holds'),
        (lambda v: v.update(keys={}), '"keys" is {}; it must be a list'),
        (lambda v: v.update(keys=[["body", -1.0, [999999, 20]]]), "does not occur in this index"),
        (lambda v: v.update(unigrams=[[20, 20], [-1, -1]]), '"unigrams" is out of order'),
        (lambda v: v.update(unigrams=[[20], [-1, -1]]), '"unigrams" has other values'),
        (lambda v: v.update(unigrams=[[20], ["-1"]]), '"unigrams" has other values'),
        (lambda v: v.update(unigrams=[[20], [1e300]]), "beyond single precision"),
        (lambda v: v.update(unigrams=[[20]]), '"unigrams" is [[20]]'),
        (lambda v: v.update(unigrams=[[999999], [-1]]), "the n-gram [999999] does not occur in this index"),
        (lambda v: v.update(vector={"a": None}), "\"vector\" has None for 'a'"),
        (lambda v: v.update(vector=[1.0]), '"vector" is [1.0]; it must be an object of numbers'),
        (lambda v: v.update(contents=3), '"contents" is 3; it must be a string'),
        (lambda v: v.update(contents="\ud800"), '"contents" is'),
        (lambda v: v.update(contents="other"), "topic 'q1' was encoded as 'other' and is now 'query 1"),
        (lambda v: v.update(made="0" * 16), "something else than embeddings.jsonl.config.json says"),
        (lambda v: v.update(id="q0"), "topic 'q0' comes twice, first at"),
        (lambda v: v.update(id=None), '"id" is None'),
        (lambda v: v.pop("keys"), 'no "keys"; this is no line of python -m seal_ir.encode'),
    ],
)
def test_a_bad_line_is_named(
    path: Path, index: Index, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    edit(path, 2, change)
    with pytest.raises(InputError) as error:
        stored(path, index).decoded(QUERIES)
    assert str(error.value).startswith(f"{path}:2: ")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("line", "told"), [("{", "not JSON"), ("[]", "a JSON object is needed")])
def test_what_is_no_object_is_named(path: Path, index: Index, line: str, told: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=told) as error:
        list(iter_records(path))
    assert str(error.value).startswith(f"{path}:6: ")


def test_a_topic_without_keys(path: Path, index: Index) -> None:
    topics = [*QUERIES, Query("q9", "new")]
    with pytest.raises(InputError, match="no keys for topic 'q9'; encode these topics"):
        stored(path, index, topics).decoded(topics)


@pytest.mark.parametrize(
    ("sound", "spoilt", "told"),
    [
        ('"beam": 15', '"beam": 16', "damaged, it does not agree with itself"),
        ('"beam": 15', '"beam": "15"', "damaged"),
        ('"beam": 15', '"beam": 0', "damaged"),
        ('"beam"', '"width"', "a newer version .* under the setting 'width'"),
        ('"beam": 15', '"beam": 15, "top_p": 1', "under the setting 'top_p'.*install that"),
        ('"dtype": "float32"', '"dtype": 1', "damaged"),
        ('"format": 2', '"format": 1', "no description of keys in format 2"),
        (None, "[]", "no description of keys"),
        (None, "{", "cannot be read"),
    ],
)
def test_a_damaged_description_of_keys_is_named(
    path: Path, index: Index, sound: str | None, spoilt: str, told: str
) -> None:
    beside = provenance_file(path)
    text = beside.read_text(encoding="utf-8")
    damaged = spoilt if sound is None else text.replace(sound, spoilt)
    assert damaged != text
    beside.write_text(damaged, encoding="utf-8")
    with pytest.raises(InputError, match=told) as error:
        stored(path, index)
    assert str(beside) in str(error.value)


def test_what_keys_were_made_with_must_lie_beside_them(path: Path, index: Index, tmp_path: Path) -> None:
    beside = provenance_file(path)
    text = beside.read_text(encoding="utf-8")
    beside.unlink()
    with pytest.raises(InputError, match=r"embeddings.jsonl.config.json: missing; it says what keys"):
        stored(path, index)
    with pytest.raises(InputError, match="missing"):
        stored(tmp_path / "nowhere", index)
    beside.write_text(text, encoding="utf-8")
    path.unlink()
    with pytest.raises(InputError, match=r"embeddings.jsonl: cannot be read \(No such file"):
        stored(path, index).decoded(QUERIES)


def test_keys_of_another_index_or_tokenizer(path: Path, index: Index, tmp_path: Path) -> None:
    tiny.build(tmp_path / "other", tiny.DOCUMENTS[:3])
    with pytest.raises(InputError, match=r"made for another index than .*other; search that one, or encode"):
        stored(path, Index(tmp_path / "other"))
    definition = json.loads(tiny.definition())
    definition["model"]["merges"].pop()
    tokenizer = tiny.TextTokenizer(json.dumps(definition))
    tiny.build(tmp_path / "tokens", text_tokenizer=tokenizer)
    with pytest.raises(InputError, match="made with another tokenizer than that of"):
        stored(path, Index(tmp_path / "tokens"))
    tiny.build(tmp_path / "same")
    assert len(stored(path, Index(tmp_path / "same")).decoded(QUERIES).queries) == 4


def test_keys_of_another_model_or_precision(path: Path, index: Index, tmp_path: Path) -> None:
    assert stored(path, index, model="stub", dtype="float32").made.model == "stub"
    with pytest.raises(InputError, match="made by model 'stub', not by 'mine'; leave out --model, or encode"):
        stored(path, index, model="mine")
    with pytest.raises(InputError, match="made in float32, not in bfloat16; leave out --dtype"):
        stored(path, index, dtype="bfloat16")
    with pytest.raises(ModelError, match="no such model folder"):
        stored(path, index, model=str(tmp_path / "none"))


def test_a_model_folder_is_known_by_its_files(tmp_path: Path) -> None:
    assert model_identity("some/model") == "some/model"
    identities = []
    for name, weights, prompts in (("a", b"1", "x"), ("b", b"1", "x"), ("c", b"2", "x"), ("d", b"1", "y")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(weights)
        (folder / "seal.json").write_text(prompts)
        (folder / "report.txt").write_text(name)
        identities.append(model_identity(str(folder)))
    assert identities[0] == identities[1]
    assert len(set(identities)) == 3


def misfit(path: Path, index: Index, *configs: SearchConfig) -> str:
    return read_provenance(provenance_file(path)).misfit(index, configs)


def with_decode(config: SearchConfig, **values: Any) -> SearchConfig:
    return replace(config, decode=replace(config.decode, **values))


def test_settings_of_decoding_that_do_not_fit(path: Path, index: Index) -> None:
    """Keys under intersective hold those of every other preset of its beam but the slow one."""
    others = ("dsi", "minder", "published", "balanced")
    presets = [config for name, config in PRESETS.items() if name not in others]
    assert misfit(path, index, *presets) == ""
    assert misfit(path, index, PRESETS["balanced"]).startswith("made with beam = 15, preset balanced has 5")
    assert "published decodes in another way" in misfit(path, index, PRESETS["published"])
    for config, values, name in (
        (SETTINGS, {"beam": 5}, "beam"),
        (SETTINGS, {"rescore": True}, "rescore"),
        (SETTINGS, {"title_steps": 3}, "title_steps"),
        (SETTINGS, {"query_words": 1}, "query_words"),
        (SETTINGS, {"unigrams": 10}, "unigrams"),
        (PRESETS["lm"], {"body_steps": 5}, "body_steps"),
        (PRESETS["lm-fm"], {"title_steps": 3}, "title_steps"),
    ):
        told = misfit(path, index, with_decode(config, **values))
        assert told.startswith(f"made with {name} = "), told
        assert "search with the same settings, or encode the topics again" in told


def test_keys_of_a_decoding_that_stopped(index: Index) -> None:
    """They serve what ranks by LM+FM, with and without; what is lossy serves its own kind only."""
    made = KeyProvenance.of(index, "stub", "float32", with_decode(SETTINGS, stop=True))
    usual = KeyProvenance.of(index, "stub", "float32", SETTINGS)
    assert made.misfit(index, [SETTINGS, PRESETS["paper"], with_decode(SETTINGS, stop=True)]) == ""
    assert usual.misfit(index, [with_decode(SETTINGS, stop=True), PRESETS["lm"]]) == ""
    assert made.misfit(index, [PRESETS["lm"]]).startswith("made with stop = True, preset lm has False here")
    lossy = with_decode(SETTINGS, stop=True, retired=1, least_weight=0.5)
    assert made.misfit(index, [lossy]).startswith("made with least_weight = 0.0")
    assert KeyProvenance.of(index, "stub", "float32", lossy).misfit(index, [lossy]) == ""


def test_settings_of_later_versions_leave_older_fingerprints(index: Index, tmp_path: Path) -> None:
    """A file of an earlier version does not name them, and must go on agreeing with itself."""
    made = KeyProvenance.of(index, "stub", "float32", SETTINGS)
    write_provenance(tmp_path / "made.json", made)
    values = json.loads((tmp_path / "made.json").read_text())
    for name in ("stop", "least_weight", "retired"):
        del values["decode"][name]
    (tmp_path / "made.json").write_text(json.dumps(values))
    assert read_provenance(tmp_path / "made.json") == made
    lossy = with_decode(SETTINGS, stop=True, retired=1, least_weight=0.5)
    other = KeyProvenance.of(index, "stub", "float32", lossy)
    assert other.fingerprint != made.fingerprint
    write_provenance(tmp_path / "made.json", other)
    assert read_provenance(tmp_path / "made.json") == other


def test_fingerprints_tell_settings_apart(index: Index) -> None:
    made = KeyProvenance.of(index, "stub", "float32", SETTINGS)
    others = [
        replace(made, **values)
        for values in (
            {"text": "x"}, {"tokenizer": "x"}, {"identity": "x"}, {"dtype": "bfloat16"}, {"slow_path": True},
            {"decode": replace(made.decode, beam=3)},
        )
    ]  # fmt: skip
    assert len({item.fingerprint for item in (made, *others)}) == 7
    assert replace(made, model="another name").fingerprint == made.fingerprint


def test_what_keys_were_made_with_comes_back(index: Index, tmp_path: Path) -> None:
    made = KeyProvenance.of(index, "modèle", "bfloat16", with_decode(PRESETS["published"], beam=3))
    write_provenance(tmp_path / "made.json", made, n_topics=3)
    assert read_provenance(tmp_path / "made.json") == made


def test_names_of_files(tmp_path: Path) -> None:
    assert file_to_write(tmp_path / "keys") == tmp_path / "keys" / "embeddings.jsonl"
    assert file_to_write(tmp_path) == tmp_path / "embeddings.jsonl"
    assert file_to_write(tmp_path / "mine.jsonl") == tmp_path / "mine.jsonl"
    assert file_to_write(Path("/dev/null")) == Path("/dev/null")
    with pytest.raises(
        UsageError, match=r"keys are written plain; name it mine.jsonl and pack it afterwards"
    ):
        file_to_write(tmp_path / "mine.jsonl.gz")
    assert file_to_read(tmp_path) == tmp_path / "embeddings.jsonl"
    assert provenance_file(tmp_path / "a.jsonl") == provenance_file(tmp_path / "a.jsonl.gz")
    long = Path("x" * 300)
    assert file_to_read(long) == long


def test_packed_keys(path: Path, index: Index) -> None:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    for name in (path.parent, packed, path):
        assert len(stored(name, index).decoded(QUERIES).queries) == 4


def test_a_file_appears_whole_or_not_at_all(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text("old\n")
    keys = random_keys(index, 1)
    with pytest.raises(KeyboardInterrupt), KeyWriter(path, "m") as writer:
        writer.write(QUERIES[0], keys, {})
        raise KeyboardInterrupt
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys.jsonl"]
    assert path.read_text() == "old\n"
    with pytest.raises(ValueError, match="inside its with block"):
        KeyWriter(path, "m").write(QUERIES[0], keys, {})
    with pytest.raises(ValueError, match="JSON compliant"), KeyWriter(path, "m") as writer:
        writer.write(QUERIES[0], keys, {"a": float("inf")})
    assert path.read_text() == "old\n"


def test_common_beginnings_are_looked_up_once(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    ngrams = [key.symbols for key in random_keys(index, 5).keys]
    prefixes = {ngram[:n] for ngram in ngrams for n in range(1, len(ngram) + 1)}
    asked = []
    extend = Index.extend
    monkeypatch.setattr(Index, "extend", lambda self, r, s: asked.append(len(s)) or extend(self, r, s))
    found = index.find_all(ngrams)
    assert sum(asked) == len(prefixes)
    assert len(asked) == max(map(len, ngrams))
    assert all(tuple(map(tuple, found[ngram].tolist())) == index.find(ngram) for ngram in ngrams)


def test_a_query_without_keys(index: Index) -> None:
    record = from_line(to_line(Query("q", ""), QueryKeys((), NO_UNIGRAMS), {}, "m"))
    assert not isinstance(record, Malformed)
    found = look_up(index, record)
    assert not isinstance(found, Malformed)
    assert_equal(found, QueryKeys((), NO_UNIGRAMS))


def test_a_key_that_goes_on_where_the_text_ends(index: Index) -> None:
    end = int(index.streams([0])[0][-1])
    keys = QueryKeys((Key((end, 999_999), -1.0, 1, (), BODY),), NO_UNIGRAMS)
    record = from_line(to_line(Query("q", ""), keys, {}, "m"))
    assert not isinstance(record, Malformed)
    assert isinstance(look_up(index, record), Malformed)
