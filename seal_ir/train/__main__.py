"""`python -m seal_ir.train`: `data` makes sets, `fit` and `rank` train, `average`, `convert` make models."""

from __future__ import annotations

import sys

from seal_ir.command import CommandParser, run
from seal_ir.errors import UsageError

_USAGE = """usage: python -m seal_ir.train {data,fit,rank,average,convert} [options]

  data     make a training set of questions and passages, or of a bare collection
  fit      train a model on it
  rank     train a model further, so that what it writes ranks
  average  make one adapter out of several
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
    if name == "rank":
        from seal_ir.train.rank.command import main as rank

        return rank(arguments[1:])
    if name == "average":
        from seal_ir.train.average_command import main as average

        return average(arguments[1:])
    if name == "convert":
        from seal_ir.train.convert_command import main as convert

        return convert(arguments[1:])
    raise UsageError(
        f"unknown subcommand {name!r}; write `python -m seal_ir.train data`, `... fit`, `... rank`,"
        " `... average` or `... convert`"
    )


if __name__ == "__main__":
    run(main)
