"""Whether the stubs of our extension modules, which are written by hand, are those of what was built.

As a program, `python -m tests.helpers.stubs` prints each difference in a line and exits 1 if there are any.

The modules are asked through nanobind's generator of stubs. mypy's stubtest takes nanobind's functions for
values of another kind: it finds fault with each of them and compares no signature.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from nanobind.stubgen import StubGen

PACKAGE = Path(__file__).parents[2] / "seal_ir"
OPTIONAL = {"_sdsl"}  # built where sdsl-lite is


class _Plain(ast.NodeTransformer):
    """Types as we write them: no shapes of arrays, and numpy by its short name."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        annotated = isinstance(node.value, ast.Name) and node.value.id == "Annotated"
        if annotated and isinstance(node.slice, ast.Tuple):
            return self.visit(node.slice.elts[0])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        return ast.Name("np" if node.id == "numpy" else node.id, node.ctx)


def declared(text: str) -> dict[str, tuple[str, int]]:
    """What a stub declares: by name, the declaration without its documentation, and its line."""
    found: dict[str, tuple[str, int]] = {}

    def add(name: str, node: ast.stmt, said: str) -> None:
        before = found.get(name)
        found[name] = (f"{before[0]}; {said}", before[1]) if before else (said, node.lineno)

    def read(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                add(prefix + node.name, node, ", ".join(["class", *map(ast.unparse, node.bases)]))
                read(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                kinds = "".join(f"@{ast.unparse(decorator)} " for decorator in node.decorator_list)
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                add(prefix + node.name, node, f"{kinds}({ast.unparse(node.args)}){returns}")
            elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr | ast.Pass):
                add(prefix + ast.unparse(node).partition(":")[0].partition(" ")[0], node, ast.unparse(node))

    read(_Plain().visit(ast.parse(text)).body, "")
    return found


def differences(stub: str, name: str) -> list[str]:
    """Where a stub and the module `seal_ir.NAME` differ, a line each."""
    module = import_module(f"seal_ir.{name}")
    generator = StubGen(module, include_docstrings=False)
    generator.put(module)
    ours, theirs = declared(stub), declared(generator.get())
    return [
        f"seal_ir/{name}.pyi:{ours.get(key, ('', 1))[1]}: {key} is {ours.get(key, ('absent',))[0]},"
        f" but in the module {theirs.get(key, ('absent',))[0]}"
        for key in sorted({*ours, *theirs})
        if ours.get(key, ("",))[0] != theirs.get(key, ("",))[0]
    ]


def main() -> int:
    """Check every stub whose module was built."""
    found = []
    for path in sorted(PACKAGE.glob("_*.pyi")):
        if path.stem in OPTIONAL and find_spec(f"seal_ir.{path.stem}") is None:
            print(f"{path.name}: not checked, its module was not built")
            continue
        found += differences(path.read_text(encoding="utf-8"), path.stem)
    print("\n".join(found) if found else "Stubs: no differences from the modules.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
