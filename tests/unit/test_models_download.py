"""Registered models that are published: listed, downloaded whole and checked or not at all, found by name."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from seal_ir.doctor import files
from seal_ir.encode.__main__ import main as encode
from seal_ir.errors import InputError, ModelError
from seal_ir.formats.io import downloads
from seal_ir.formats.io.resolve import Places
from seal_ir.index.__main__ import main as index
from seal_ir.models import weights
from seal_ir.models.__main__ import main
from seal_ir.models.download import check_folder
from seal_ir.models.weights import ensure_weights
from seal_ir.search.__main__ import main as search
from seal_ir.text.pretrained import BASE_MODEL, PACKAGED, base_of, find_model, lacks_weights
from seal_ir.text.registered import AbsentModelError, registered_models
from seal_ir.train.__main__ import main as train
from tests.helpers import tiny
from tests.helpers.commands import Main, Runner, assert_fault
from tests.helpers.file_server import Server, archive, serving

BASE = (
    '[[model]]\nname = "smollm2-135m"\ndescription = "the base"\nlicence = "Apache-2.0"\n'
    "n_bytes = 93_000_000\n"
)
ENCODE = (
    *("input", "--corpus", "{topics}", "output", "--embeddings", "{out}"),
    *("encoder", "--index", "{index}", "--encoder", "small"),
)
FETCH = "python -m seal_ir.models fetch"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder of a model that nobody runs: a tokenizer, a configuration and a weight."""
    folder = tiny.save_tokenizer(tmp_path / "made")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    save_file({"weight": np.ones(30_000, np.float32)}, folder / "model.safetensors")
    return folder


class Registry:
    """A registry of its own with models that a server has; a cache of its own."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.places = Places(None, folder / "collections", folder / "cache")
        self.places.collections.mkdir()
        self.models = self.places.cache / "models"
        self.text, self._server, self._scratch = BASE, server, folder

    def publish(self, name: str, folder: Path, path: str = "/file", sha256: str | None = None) -> Path:
        """Serve a folder as an archive, the last one that was given, and register it; where it goes."""
        made = archive(self._scratch / "made.tar.gz", lambda tar: tar.add(folder, "some/name"))
        self._server.content = made.read_bytes()
        one = self._server.of(path)
        self.register(
            f'[[model]]\nname = "{name}"\ndescription = "a model"\nlicence = "CC-BY-4.0"\n[model.download]\n'
            f'url = {json.dumps(one.url)}\nsha256 = "{sha256 or one.sha256}"\nn_bytes = {one.n_bytes}\n'
        )
        return self.models / name

    def register(self, text: str) -> None:
        self.text += text
        (self.places.collections / "models.toml").write_text(self.text, encoding="utf-8")


@pytest.fixture
def registry(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry(tmp_path, server)
    monkeypatch.setattr(Places, "from_environment", classmethod(lambda cls: made.places))
    monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", 0.5)
    return made


def left(registry: Registry) -> list[str]:
    return sorted(str(path.relative_to(registry.models)) for path in registry.models.rglob("*"))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/file", "/breaks", "/stalls", "/dribbles", "/moved"])
def test_a_published_model_is_fetched_once(
    registry: Registry, server: Server, model: Path, call: Runner, path: str
) -> None:
    place = registry.publish("small", model, path)
    size = f"{len(server.content) / 1e6:,.1f} MB"
    found = call(main, "fetch", "small", "--yes")
    assert (found.code, found.out) == (0, f"{place}\n"), found.err
    told = f"small: {size}, licence CC-BY-4.0, from {server.of(path).url} to {place}\n"
    assert found.err.startswith(told)
    assert {one.name: one.read_bytes() for one in place.iterdir()} == {
        one.name: one.read_bytes() for one in model.iterdir()
    }
    assert sorted(one.name for one in registry.models.iterdir()) == ["small"]
    asked = list(server.asked)
    again = call(main, "fetch", "small")
    assert (again.code, again.out, again.err) == (0, f"{place}\n", "")
    assert server.asked == asked
    assert find_model("small").folder == place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/gone", "the server says 404 Not Found, after 0 of "),
        ("/always-breaks", "it ends early, after 0 of "),
        ("/longer", "is larger than the "),
        ("/other", "its sha256 is "),
        ("/slow", "no answer (timed out)"),
    ],
)
def test_a_download_that_fails_leaves_nothing(
    registry: Registry, model: Path, call: Runner, path: str, told: str
) -> None:
    registry.publish("small", model, path)
    assert_fault(call(main, "fetch", "small", "--yes"), 1, path, told)
    assert left(registry) == []


def test_another_archive_than_was_registered(registry: Registry, model: Path, call: Runner) -> None:
    registry.publish("small", model, sha256="0" * 64)
    assert_fault(call(main, "fetch", "small", "--yes"), 1, f"where {'0' * 64} is expected; it is another")
    assert left(registry) == []


def test_another_call_goes_on(registry: Registry, server: Server, model: Path, call: Runner) -> None:
    place = registry.publish("small", model)
    part = registry.models / f".small.tar.{server.of('/file').sha256[:12]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(server.content[:1000])
    assert call(main, "fetch", "small", "--yes").code == 0
    assert server.asked == [("/file", "bytes=1000-")]
    assert [one.name for one in registry.models.iterdir()] == [place.name]


def add(name: str, content: bytes = b"") -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "x"}', encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (add("pytorch_model.bin"), "'pytorch_model.bin' is none of .safetensors, .json,"),
        (add("model.PT"), "'model.PT' is none of"),
        (add("weights.pkl"), "'weights.pkl' is none of"),
        (add("modeling_small.py"), "'modeling_small.py' is none of"),
        (add("run"), "'run' is none of"),
        (remove("model.safetensors"), "it has no weights as safetensors"),
        (adapter, "it has no adapter_model.safetensors"),
        (add("adapter_config.json", b"{"), "it has no adapter_model.safetensors"),
        (add("model.safetensors", b"no weights"), "model.safetensors: the weights cannot be read"),
        (
            add("more.safetensors", save({"a": np.ones(9)})[:-1]),
            "more.safetensors: the weights cannot be read",
        ),
        (add("seal.json", b"{}"), "seal.json: not a model description"),
        (remove("config.json"), "0 folders in it hold config.json or adapter_config.json, not one"),
    ],
)
def test_what_cannot_be_used_or_could_run_is_refused(
    registry: Registry, model: Path, call: Runner, spoil: Callable[[Path], object], told: str
) -> None:
    spoil(model)
    registry.publish("small", model)
    result = call(main, "fetch", "small", "--yes")
    assert_fault(result, 1, told)
    assert ".seal-ir.tmp" not in result.err  # where it was unpacked is gone
    assert left(registry) == []


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"name": "../evil"}, "outside the destination"),
        ({"name": "m/config.json", "type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "neither a file nor"),
    ],
)
def test_an_archive_cannot_escape(
    registry: Registry, server: Server, model: Path, call: Runner, info: dict[str, object], told: str
) -> None:
    member = tarfile.TarInfo()
    for name, value in info.items():
        setattr(member, name, value)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(member)
    registry.publish("small", model)
    server.content = packed.getvalue()
    registry.text = BASE
    one = server.of("/file")
    registry.register(
        '[[model]]\nname = "small"\ndescription = "a model"\nlicence = "MIT"\n[model.download]\n'
        f'url = "{one.url}"\nsha256 = "{one.sha256}"\nn_bytes = {one.n_bytes}\n'
    )
    assert_fault(call(main, "fetch", "small", "--yes"), 1, told)
    assert left(registry) == []


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (search, ("--topics", "{topics}", "--index", "{index}", "--model", "small", "--output", "{out}")),
        (encode, ENCODE),
        (index, ("--input", "{corpus}", "--model", "small", "--index", "{out}")),
        (train, ("fit", "--data", "{data}", "--model", "small", "--output", "{out}")),
    ],
    ids=["search", "encode", "index", "train"],
)
def test_a_model_that_is_not_here_names_the_command(
    registry: Registry,
    server: Server,
    model: Path,
    call: Runner,
    tiny_index: Path,
    training_data: Path,
    tmp_path: Path,
    command: Main,
    arguments: tuple[str, ...],
) -> None:
    registry.publish("small", model)
    (tmp_path / "topics.tsv").write_text("q1\twhere is Paris\n", encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "contents": "b"}\n', encoding="utf-8")
    places = {
        "{topics}": tmp_path / "topics.tsv",
        "{corpus}": tmp_path / "corpus.jsonl",
        "{index}": tiny_index,
        "{data}": training_data,
        "{out}": tmp_path / "out",
    }
    result = call(command, *(places.get(word, word) for word in arguments))
    assert result.code in (1, 2)
    assert_fault(result, result.code, "model 'small' ", f"{FETCH} small")
    assert not (tmp_path / "out").exists()
    assert server.asked == []


def test_an_adapter_brings_its_base(
    registry: Registry, server: Server, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that builds on a registered model, and one on the weights that pip fetches."""
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "small"}', encoding="utf-8")
    save_file({"lora": np.ones(3)}, folder / "adapter_model.safetensors")
    place = registry.publish("added", folder)
    ensure_weights("added", yes=True)  # its base is unknown to us: a hub name
    assert base_of(place) == "small"
    registry.publish("small", model)
    assert lacks_weights("added")
    ensure_weights("added", yes=True)
    assert sorted(one.name for one in registry.models.iterdir()) == ["added", "small"]
    assert not lacks_weights("added")
    (place / "adapter_config.json").write_text(f'{{"base_model_name_or_path": "{BASE_MODEL}"}}')
    seen = []
    monkeypatch.setattr(weights, "lacks_weights", lambda name: name == "added")
    monkeypatch.setattr(weights, "fetch_weights", lambda: seen.append(True))
    ensure_weights("added", yes=True)
    assert seen == [True]


def test_an_adapter_with_its_base_inside(registry: Registry, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "./base"}', encoding="utf-8")
    save_file({"lora": np.ones(3)}, folder / "adapter_model.safetensors")
    model.rename(folder / "base")
    place = registry.publish("whole", folder)
    ensure_weights("whole", yes=True)
    assert base_of(place) == str(place / "base")
    assert not lacks_weights("whole")


def test_that_one_is_not_here_can_be_told_from_another_process(registry: Registry, model: Path) -> None:
    registry.publish("small", model)
    with pytest.raises(AbsentModelError) as error:
        find_model("small")
    again = pickle.loads(pickle.dumps(error.value))  # noqa: S301 - our own
    assert (str(again), again.published) == (str(error.value), error.value.published)


@pytest.mark.usefixtures("registry")
def test_hub_names_ask_no_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Places, "from_environment", classmethod(lambda cls: 1 / 0))
    assert find_model("facebook/bart-large").folder is None


def test_a_folder_of_that_name_is_taken(
    registry: Registry, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.publish("made", model)
    monkeypatch.chdir(tmp_path)
    assert find_model("made").source == "made"
    assert not lacks_weights("made")


def test_models_are_listed(registry: Registry, model: Path, call: Runner) -> None:
    place = registry.publish("small", model)
    size = f"{registry.text.rpartition('n_bytes = ')[2].strip()}"
    listed = call(main)
    assert (listed.code, listed.err) == (0, "")
    lines = [line.split() for line in listed.out.splitlines()]
    assert lines[0][:1] == ["smollm2-135m"]
    assert lines[0][2:] == ["93.0", "MB", "Apache-2.0", "the", "base"]
    assert lines[1] == ["small", "absent", f"{int(size) / 1e6:,.1f}", "MB", "CC-BY-4.0", "a", "model"]
    assert listed.out.splitlines()[-1] == f"{FETCH} NAME gets an absent one, or says how."
    found = {finding.name: finding for finding in files.models()}["small"]
    assert (found.state, found.mend) == ("absent", f"{FETCH} small")
    assert call(main, "fetch", "small", "--yes").code == 0
    assert call(main).out.splitlines()[1].split()[1] == "here"
    found = {finding.name: finding for finding in files.models()}["small"]
    assert (found.state, found.told) == ("ok", str(place))


def test_names_that_nobody_has_registered(registry: Registry, model: Path, call: Runner) -> None:
    registry.publish("small", model)
    assert_fault(
        call(main, "fetch", "large"), 2, "large: no registered model; registered are: smollm2-135m, small"
    )
    assert find_model("nobody").folder is None  # a hub name, as before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[model]]\nname = "../evil"\ndescription = ""\nlicence = ""\n', "name of a [[model]] is '../evil'"),
        ('[[model]]\nname = "a/b"\ndescription = ""\nlicence = ""\n', "name of a [[model]] is 'a/b'"),
        ('[[model]]\nname = "a"\ndescription = ""\n', "licence of a [[model]] is None"),
        (
            '[[model]]\nname = "a"\ndescription = ""\nlicence = ""\n[model.download]\nurl = "https://x"\n',
            "a: download is",
        ),
    ],
)
def test_a_registry_that_means_nothing(registry: Registry, call: Runner, text: str, told: str) -> None:
    registry.register(text)
    with pytest.raises(InputError) as error:
        registered_models(registry.places)
    assert told in str(error.value)
    assert_fault(call(main), 1, told)


def test_the_packaged_models_are_in_the_registry_and_could_be_published() -> None:
    entries = registered_models(Places.from_environment())
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names)
    packaged = sorted(path.parent.name for path in PACKAGED.glob("*/seal.json"))
    assert set(packaged) <= set(names)
    for name in packaged:
        check_folder(PACKAGED / name)
    assert {entry.licence for entry in entries} <= {"Apache-2.0", "CC-BY-NC-4.0"}


def test_a_published_model_loads(registry: Registry, llama: Path) -> None:
    torch = pytest.importorskip("torch")
    from seal_ir.lm.load import load_network

    registry.publish("small-llama", llama)
    with pytest.raises(ModelError, match=f"{FETCH} small-llama"):
        find_model("small-llama")
    ensure_weights("small-llama", yes=True)
    ours, theirs = (load_network(find_model(name), torch.float32) for name in ("small-llama", str(llama)))
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_a_mirror_has_it(registry: Registry, server: Server, model: Path, call: Runner) -> None:
    place = registry.publish("small", model, "/gone")
    registry.register(f'mirrors = ["{server.of("/file").url}"]\n')
    assert call(main, "fetch", "small", "--yes").out == f"{place}\n"
