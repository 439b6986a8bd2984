"""`python -m seal_ir.train`: `data` makes a training set, `fit` trains on it, `convert` takes fairseq's."""

from __future__ import annotations

import sys

from seal_ir.command import CommandParser, run
from seal_ir.errors import UsageError

_USAGE = """usage: python -m seal_ir.train {data,fit,convert} [options]

  data     make a training set of questions and passages, or of a bare collection
  fit      train a model on it
  convert  make a model folder of a checkpoint of the published system

`python -m seal_ir.train data --help`, and likewise for the others, lists the options.
"""


def main(arguments: list[str]) -> int:
    """Hand over to a subcommand, whose imports are its own: `data` needs no torch."""
    name = arguments[0] if arguments else ""
    if name in ("-h", "--help"):
        sys.stdout.write(_USAGE)
        return 0
    if name == "--version":
        CommandParser().parse_args([name])
    if name == "data":
        from seal_ir.train.data.command import main as data

        return data(arguments[1:])
    if name == "fit":
        from seal_ir.train.fit.command import main as fit

        return fit(arguments[1:])
    if name == "convert":
        from seal_ir.train.convert_command import main as convert

        return convert(arguments[1:])
    raise UsageError(
        f"unknown subcommand {name!r}; write `python -m seal_ir.train data`, `... fit` or `... convert`"
    )


if __name__ == "__main__":
    run(main)
