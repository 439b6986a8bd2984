"""A small world for tests of tables: two questions, two runs, and a table file of two rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"
FILES = {
    "topics/two.tsv": "q1\twho\nq2\twhere\n",
    "answers/two.jsonl": '{"qid": "q1", "answers": ["x"]}\n{"qid": "q2", "answers": ["y"]}\n',
    "qrels/two.trec": "q1 0 d1 1\nq2 0 d2 1\n",
    "topics/six.tsv": "".join(f"{i}\tquestion {i}\n" for i in range(6)),
    "qrels/six.trec": "".join(f"{i} 0 d1 1\n" for i in range(6)),
    "good.trec": "q1 Q0 d1 1 2.0 t\nq2 Q0 d2 1 1.0 t\n",
    "half.trec": "q1 Q0 d1 1 2.0 t\nq2 Q0 d1 1 1.0 t\n",
    "all.trec": "".join(f"{i} Q0 d1 1 1.0 t\n" for i in range(6)),
    "none.trec": "".join(f"{i} Q0 d2 1 1.0 t\n" for i in range(6)),
}


ANSWERS = {"answers/two.jsonl": '{"qid": "q1", "answers": ["Paris"]}\n{"qid": "q2", "answers": ["London"]}\n'}
READER = '[[reader]]\nreader = "prompt --dtype bfloat16"\n'


def write_data(folder: Path, others: Mapping[str, str] = MappingProxyType({})) -> Path:
    """A folder for SEAL_IR_DATA; `others` are files in place of these."""
    for name, text in {**FILES, **others}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def step(run: str, source: str, extra: str = "") -> str:
    """A step that copies a run out of the data folder."""
    return (
        f"[[step]]\ncommand = \"-c '{COPY}' {{data}}/{source} {{out}}/{run}\"\n"
        f'makes = ["{{out}}/{run}"]\n{extra}\n'
    )


def row(system: str, extra: str) -> str:
    """A row with these lines."""
    return f'[[row]]\nsystem = "{system}"\n{extra}\n'


def two(head: str = "", topics: str = "", needs: str = "") -> str:
    """The text of a table of two rows, whose runs are copied from the data folder."""
    return (
        f'title = "Two systems"\n{head}\n[[topics]]\nname = "two"\n{topics}\n'
        'measures = ["Success@1", "Rprec"]\n'
        + step("good.trec", "good.trec")
        + row("The good", 'run = "good.trec"')
        + step("half.trec", "half.trec", needs)
        + row("The half", 'run = "half.trec"')
    )


def answered(index: object, measures: str = '"AnswerAccuracy@1"') -> str:
    """The table of two rows with measures that need answers, and an index."""
    return two(head=f'index = "{index}"').replace('"Success@1", "Rprec"', measures)


def read(index: object, reader: str = READER) -> str:
    """The same with EM, and a reader."""
    return answered(index, '"AnswerAccuracy@1", "EM"') + reader


def write_table(folder: Path, text: str, name: str = "two") -> Path:
    """The table file."""
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def arguments(tmp_path: Path, text: str, *more: object) -> list[object]:
    return ["--table", write_table(tmp_path, text), "--output", tmp_path / "results", *more]
