"""`python -m tests.helpers.same_bytes`: the commands one after the other, in one process and one folder.

What they write there is to be the same bytes in every process, whatever its environment.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Any

from seal_ir.command import NAMES
from seal_ir.formats.io.files import on_disk, utf8
from tests.helpers.stubbed import Stubbed, without_torch
from tests.helpers.tables import row

WORDS = ["whale", "sea", "river", "city", "İstanbul", "ILIK", "straße", "Tokyo", "London", "Éire", "mountain"]
FILES = ["b.jsonl", "A.jsonl", "a.jsonl", "é.jsonl", "\U00010348.jsonl", "deep/z.jsonl", "deep/I.jsonl"]
Main = Callable[[list[str]], int]
N_DOCUMENTS, N_TOPICS = 56, 6
PRESETS = ("intersective", "lm", "paper")


def write_inputs(folder: Path) -> None:
    """A collection in several files, topics, answers, judgements and training questions."""
    documents = [json.dumps(document(number), ensure_ascii=False) for number in range(N_DOCUMENTS)]
    more = [json.dumps({"id": f"m{i}", "contents": f"more\n{WORDS[i]} again"}) for i in range(5)]
    head = 'title = "T"\n[[topics]]\nname = "t"\ntopics = "topics.tsv"\nqrels = "qrels.trec"'
    table = [
        head,
        'measures = ["Success@1", "Rprec"]',
        row("one", 'missing = "x"'),
        row("two", 'missing = "x"'),
    ]
    files = {
        **{f"corpus/{name}": documents[at :: len(FILES)] for at, name in enumerate(FILES)},
        "more.jsonl": more,
        "topics.tsv": [f"q{i}\twhere is the {WORDS[i]} of {WORDS[-i - 1]}" for i in range(N_TOPICS)],
        "answers.jsonl": [json.dumps({"qid": f"q{i}", "answers": [WORDS[i]]}) for i in range(N_TOPICS)],
        "qrels.trec": [f"q{i} 0 d{7 * i + j} {j % 2}" for i in range(N_TOPICS) for j in range(4)],
        "training.tsv": ["t\twho swam in the sea", "u\tWhere is the whale of mountain?"],
        "gone.txt": ["d3", "d11", "m1"],
        "table.toml": table,
        "ranges.toml": ["[rank]", "alpha = [0.5, 1.0]"],
    }
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def document(number: int) -> dict[str, Any]:
    picked = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 12)]
    text = f"{picked[0]}\nThe {' '.join(picked)} of {number % 5}."
    return {"id": f"d{number}", "contents": text, "year": 1900 + number, "kind": [picked[1], picked[2]]}


def commands(threads: int, at: str, model: str) -> Iterator[tuple[Main, list[str]]]:
    """The commands with their arguments; `at` is the folder as they see it, in UTF-8."""
    from seal_ir.encode.__main__ import main as encode
    from seal_ir.eval.__main__ import main as evaluate
    from seal_ir.explain.__main__ import main as explain
    from seal_ir.index.__main__ import main as index
    from seal_ir.reproduce.__main__ import main as reproduce
    from seal_ir.search.__main__ import main as search
    from seal_ir.train.__main__ import main as train
    from seal_ir.tune.__main__ import main as tune

    asked = f"--topics {at}/topics.tsv --index {at}/index --threads {threads}"
    judged = f"--topics {at}/topics.tsv --qrels {at}/qrels.trec --answers {at}/answers.jsonl"
    runs = " ".join(f"{at}/{name}.trec" for name in (*(f"run.{preset}" for preset in PRESETS), "störed"))
    cut = f"--model {model} --max-segment-tokens 600 --threads {threads}"
    for main, line in (
        (index, f"--input {at}/corpus --index {at}/index {cut} --storeRaw --store year:int"),
        (index, f"--input {at}/corpus --index {at}/whole --model {model} --threads {threads}"),
        (index, f"--input {at}/corpus --index {at}/changed {cut} --fields kind"),
        (index, f"--input {at}/more.jsonl --index {at}/changed --append"),
        (index, f"--index {at}/changed --delete {at}/gone.txt"),
        (index, f"--index {at}/changed --merge --max-segments 2"),
        (search, f"{asked} --output {at}/run.trec --preset {' '.join(PRESETS)}"),
        (search, f"{asked} --output {at}/rün.kilt --output-format kilt --max-passage --preset body"),
        (encode, f"input --corpus {at}/topics.tsv --fields text output --embeddings {at}/keys"
         f" encoder --index {at}/index --threads {threads}"),
        (search, f"{asked} --keys {at}/keys --output {at}/störed.trec"),
        (explain, f"--query whale --index {at}/index --threads {threads} --html {at}/explained.html"),
        (explain, f"--query whale --index {at}/index --threads {threads} --json"),
        (evaluate, f"--run {runs} {judged} --index {at}/index --output {at}/table.json -q {at}/topics.jsonl"
         f" --training {at}/training.tsv --baseline run.lm --deltas {at}/deltas.tsv"),
        (evaluate, f"--run {runs} {judged} --index {at}/index --format markdown"),
        (tune, f"{judged} --keys {at}/keys --index {at}/index --ranges {at}/ranges.toml"
         f" --output {at}/tuned.toml --threads {threads} --measures nDCG@10 --folds 2"),
        (train, f"data --judged {at}/topics.tsv {at}/qrels.trec --input {at}/corpus --unsupervised"
         f" --output {at}/set"),
        (reproduce, f"--table {at}/table.toml --output {at}/results --run one={at}/run.lm.trec"
         f" two={at}/run.paper.trec"),
    ):  # fmt: skip
        yield main, [on_disk(word) for word in line.split()]  # as a shell hands them on


def commands_of_a_network(threads: int, at: str, model: str) -> Iterator[tuple[Main, list[str]]]:
    """The same for those that compute with torch, on the CPU."""
    from seal_ir.encode.__main__ import main as encode
    from seal_ir.index.__main__ import main as index
    from seal_ir.search.__main__ import main as search
    from seal_ir.train.__main__ import main as train

    fitting = f"--tokens 500 --max-tokens 120 --lr 5e-3 --warmup 2 --threads {threads} --steps"
    searching = f"--index {at}/index --model {at}/fit --threads {threads} --device cpu --batch-size 4"
    for main, line in (
        (index, f"--input {at}/corpus --index {at}/index --model {model}"),
        (train, f"data --judged {at}/topics.tsv {at}/qrels.trec --input {at}/corpus --output {at}/set"),
        (train, f"fit --data {at}/set --model {model} --output {at}/fit {fitting} 4"),
        (train, f"fit --data {at}/set --model {model} --output {at}/lora --lora 2 {fitting} 3"),
        (train, f"rank --index {at}/index --model {at}/fit --judged {at}/topics.tsv {at}/qrels.trec --beam 3"
         f" --output {at}/ranked --steps 3 --warmup 1 --refresh 2 --questions 2 --threads {threads}"),
        (search, f"{searching} --topics {at}/topics.tsv --output {at}/run.trec --preset lm"),
        (encode, f"input --corpus {at}/topics.tsv --fields text output --embeddings {at}/keys"
         f" encoder {searching.replace('--model', '--encoder')}"),
    ):  # fmt: skip
        yield main, [on_disk(word) for word in line.split()]


class Listing:
    """The files of a folder as os.scandir has them, in another order."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> Listing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def list_in_order(reverse: bool) -> None:
    """From here on folders list their files by name, or the other way round, as no file system promises."""
    listdir, scandir = os.listdir, os.scandir

    def listed(path: Any = ".") -> list[Any]:
        return sorted(listdir(path), reverse=reverse)

    def scanned(path: Any = ".") -> Listing:
        with scandir(path) as entries:
            return Listing(sorted(entries, key=lambda entry: entry.name, reverse=reverse))

    os.listdir, os.scandir = listed, scanned  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--at", type=Path, default=Path(), help="the folder, as commands are told of it")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--network", action="store_true", help="what computes with torch")
    parser.add_argument("--reverse", action="store_true", help="folders list their files backwards")
    args = parser.parse_args()
    at, model = utf8(args.at), utf8(args.model)
    list_in_order(args.reverse)
    if not args.network:
        without_torch(Stubbed().load_generator)
    made = (
        commands_of_a_network(args.threads, at, model) if args.network else commands(args.threads, at, model)
    )
    for number, (command, arguments) in enumerate(made):
        path = args.at / f"stdout.{number:02d}"
        with path.open("w", encoding="utf-8", errors=NAMES) as out, redirect_stdout(out):
            code = command(arguments)
        if code:
            raise SystemExit(f"{arguments}: exit code {code}")


if __name__ == "__main__":
    main()
