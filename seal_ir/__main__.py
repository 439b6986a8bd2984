"""`python -m seal_ir`: which commands there are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from seal_ir.command import CommandParser, run
from seal_ir.errors import UsageError

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "doctor": "say what is installed here, what is missing, and what mends it",
        "index": "build an index of a collection, or look at one",
        "search": "search topics and write a run",
        "explain": "show which keys made a query's hits, or why a document is none",
        "read": "answer topics out of the passages of a run",
        "eval": "measure runs and written answers",
        "tune": "choose settings of ranking and fusion on questions with judgements",
        "encode": "write the keys of topics, for searches without a model",
        "server": "serve indexes over HTTP, or to language models (MCP)",
        "models": "list the models that have names",
        "models fetch": "fetch a published model, or the default model's weights",
        "train data": "make a training set",
        "train fit": "train a model on it",
        "train convert": "make a model of a checkpoint of the published system",
        "convert nq320k": "make a collection, topics and judgements of Natural Questions",
        "convert overlap": "find the topics that overlap with training questions",
        "convert run": "write a run of any system in another format",
        "convert passages": "write the passages of a collection's documents as a collection",
        "convert kilt-passages": "put passages for pages into KILT's gold files",
        "convert kilt-questions": "put TriviaQA's questions into KILT's files",
        "convert kilt-predictions": "write a run and answers as KILT's evaluation takes them",
        "reproduce": "make the runs of a table of systems, measure and print them",
        "baselines.bm25": "search with BM25, by Lucene",
        "baselines.gensim_bm25": "search with BM25, by gensim",
        "baselines.dense": "search with a dense retriever",
        "baselines.gar": "search with expanded questions",
        "baselines.expansions": "let a model write expanded questions",
        "baselines.docids": "give the documents of a collection the identifiers of DSI",
        "baselines.pseudo_queries": "give the documents of a collection questions that they answer",
        "pyserini_plugin": "run a command of Pyserini's on the Java that is found here",
    }
)


def _parser() -> CommandParser:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{line}" for name, line in COMMANDS.items()]
    told = "Commands, each `python -m seal_ir.NAME`, and its options with --help:"
    parser = CommandParser(prog="python -m seal_ir", usage="python -m seal_ir.NAME [options]", raw=True)
    parser.description = "\n".join([told, "", *lines])
    return parser


def main(arguments: list[str]) -> int:
    """List the commands, or perform `doctor`; 0."""
    if arguments[:1] == ["doctor"]:  # the one that is for those who do not yet know how to write the others
        from seal_ir.doctor.__main__ import main as doctor

        return doctor(arguments[1:])
    parser = _parser()
    _, rest = parser.parse_known_args(arguments)
    if rest:
        names = {name.split()[0] for name in COMMANDS}
        known = rest[0] in names
        raise UsageError(
            f"write python -m seal_ir.{rest[0]}, with a dot"
            if known
            else f"{rest[0]!r} is no command; python -m seal_ir lists them"
        )
    sys.stdout.write(parser.format_help())
    return 0


if __name__ == "__main__":
    run(main)
