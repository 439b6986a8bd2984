"""The blocks of README and docs: each can be read, and what is compared of their output."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from seal_ir.__main__ import COMMANDS
from seal_ir.eval.findings import KINDS
from seal_ir.server.options import parsed
from tests.helpers import first_look, pages

PAGES = pages.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_can_be_read(page: Path) -> None:
    for block in pages.blocks(page):
        if block.language in ("python", "py"):
            ast.parse(block.code)
        if block.language == "toml":
            tomllib.loads(block.code)


def test_output_follows_what_is_run() -> None:
    """A page shows no output that is not compared."""
    for page in PAGES:
        shown = sum(block.told == ("output",) for block in pages.blocks(page))
        compared = sum(block.shown is not None and block.is_run for block in pages.blocks(page))
        assert shown == compared, page.name


def test_every_kind_of_finding_is_in_the_page_of_eval() -> None:
    page = (pages.ROOT / "docs" / "eval.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"| `{kind}` |" not in page] == []


def test_every_command_has_a_page() -> None:
    page = (pages.ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in page] == []


@pytest.mark.parametrize("place", ["package", "checkout"])
def test_two_commands_install_and_serve(place: str) -> None:
    """They are what `make wheel-check` runs; here, that they are commands at all."""
    install, serve = first_look.told(place)
    if place == "package":
        assert install == ["pip", "install", "seal-ir[server,explain]"]
        project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert project["name"] == "seal-ir"
        assert {"server", "explain"} <= set(project["optional-dependencies"])
        described = (pages.ROOT / project["readme"]).read_text(encoding="utf-8")
        assert f"```bash\n{shlex.join(install)}\n{shlex.join(serve)}\n```" in described
    else:
        assert install == ["make", "install"]
        assert re.search("^install:", (pages.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert serve[1:3] == ["-m", "seal_ir.server"]
    args = parsed(serve[3:])
    assert (args.index, args.yes) == (["demo"], True)
    assert f"http://{args.host}:{args.port}/" in first_look.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("etna 18.44", "etna   18.45\n", True),
        ("etna 18.44", "etna 18.84", False),
        ("etna 18", "etna 19", False),
        ("etna 18.44", "seine 18.44", False),
        ("etna 18.44", "etna 18.44 17.00", False),
        ("5 documents, 0.4 s", "5 documents, 11.2 s", True),
        ("a\n# seal-ir 0.1.0, x 1", "a\n# seal-ir 0.2.0, x 2", True),
        ("-0.004", "0.004", True),
    ],
)
def test_numbers_are_compared_as_far_as_machines_agree(shown: str, printed: str, same: bool) -> None:
    assert pages.agree(shown, printed) is same


def test_blocks_run_in_order_in_one_namespace(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# T\n\n```python run\nx = 1\n```\n\n```python\nno such thing\n```\n\n"
        "```python run needs=no_such_package\nimport no_such_package\n```\n\n"
        "```bash run\necho hello > there\n```\n\n"
        "```python run\nfrom pathlib import Path\nprint(x + 1, Path('there').read_text())\n```\n\n"
        "```text output\n2 hello\n```\n"
    )
    found = pages.run(page, tmp_path)
    assert [text for _, text in found] == ["", None, "", "2 hello\n\n"]
    assert [block.line for block, _ in found] == [3, 11, 15, 19]
    assert found[-1][0].shown == "2 hello\n"


def test_other_words_beside_a_fence_run_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```text run trec\n1 Q0 a 1 2.0 tag\n```\n\n```bash\nfalse\n```\n")
    assert pages.run(page, tmp_path) == []
    assert [block.is_run for block in pages.blocks(page)] == [False, False]


def test_a_block_that_fails_says_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# T\n\n```bash run\necho told >&2\nfalse\n```\n")
    with pytest.raises(AssertionError, match="line 3: told"):
        pages.run(page, tmp_path)
