"""No source runs what a file says, starts a shell, or lets an archive write where it likes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import seal_ir

PACKAGE = Path(seal_ir.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
PICKLES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
# Reads pickles of the published system with an unpickler that makes builtin values only; finds out whether a
# model that the user gave can be pickled.
MAY_IMPORT_PICKLE = {"convert/published_side_file.py", "search/model.py"}
FORBIDDEN = {
    "eval",
    "exec",
    "__import__",
    "os.system",
    "os.popen",
    "pickle.load",
    "pickle.loads",
    "yaml.load",
    "yaml.unsafe_load",
    "shutil.unpack_archive",
    "tempfile.mktemp",
}
# What a call must say, and what it must not; None is "says nothing of it".
MUST_SAY = {"load": ("torch", "weights_only", (True,)), "extractall": (None, "filter", ())}
NEVER = {
    "shell": (False, None),
    "allow_pickle": (False, None),
    "verify": (True, None),
    "trust_remote_code": (False,),
}


def dangers(code: str) -> Iterator[str]:
    """What a source may not do, and does."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (f"imports {name.name}" for name in node.names if name.name.split(".")[0] in PICKLES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PICKLES:
            yield f"imports {node.module}"
        elif isinstance(node, ast.Call):
            yield from _of_a_call(node)


def _of_a_call(node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    owner, _, name = called.rpartition(".")
    said = {word.arg: word.value for word in node.keywords}
    if called in FORBIDDEN:
        yield f"calls {called}"
    for word, allowed in NEVER.items():
        if word in said and _constant(said[word]) not in allowed:
            yield f"calls {called} with {word}"
    if name in MUST_SAY:
        of, word, values = MUST_SAY[name]
        if of in (None, owner) and (word not in said or (values and _constant(said[word]) not in values)):
            yield f"calls {called} without {word}"
    loads = name == "from_pretrained" and owner != "PeftModel"  # an adapter holds no code
    if loads and "trust_remote_code" not in said:
        yield f"calls {called} without trust_remote_code"


def _constant(value: ast.expr) -> object:
    return value.value if isinstance(value, ast.Constant) else ...


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import pickle", "imports pickle"),
        ("import os, joblib.numpy_pickle", "imports joblib.numpy_pickle"),
        ("from cloudpickle import loads", "imports cloudpickle"),
        ("eval('1')", "calls eval"),
        ("exec(code, {})", "calls exec"),
        ("os.system('ls')", "calls os.system"),
        ("pickle.loads(b'')", "calls pickle.loads"),
        ("yaml.load(text)", "calls yaml.load"),
        ("subprocess.run('ls', shell=True)", "calls subprocess.run with shell"),
        ("np.load(path, allow_pickle=allowed)", "calls np.load with allow_pickle"),
        ("torch.load(path)", "calls torch.load without weights_only"),
        ("torch.load(path, weights_only=False)", "calls torch.load without weights_only"),
        ("archive.extractall(folder)", "calls archive.extractall without filter"),
        ("shutil.unpack_archive(a, b)", "calls shutil.unpack_archive"),
        ("AutoModel.from_pretrained(name)", "calls AutoModel.from_pretrained without trust_remote_code"),
        ("f(trust_remote_code=True)", "calls f with trust_remote_code"),
        ("requests.get(url, verify=False)", "calls requests.get with verify"),
    ],
)
def test_what_is_dangerous_is_found(code: str, told: str) -> None:
    assert list(dangers(code)) == [told]


@pytest.mark.parametrize(
    "code",
    [
        "network.eval()",
        "subprocess.run(['ls'], shell=False)",
        "torch.load(path, weights_only=True)",
        "np.load(path)",
        "json.load(stream)",
        "archive.extractall(folder, filter=plain)",
    ],
)
def test_what_is_not_is_not(code: str) -> None:
    assert list(dangers(code)) == []


def test_d10_no_source_runs_what_a_file_says() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): told
        for path in SOURCES
        if (told := list(dangers(path.read_text(encoding="utf-8"))))
    }
    assert found == dict.fromkeys(MAY_IMPORT_PICKLE, ["imports pickle"])
