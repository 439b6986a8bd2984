"""Rows of cells as aligned text, as a table of Markdown, or of LaTeX with booktabs."""

from __future__ import annotations

from collections.abc import Sequence

Grid = Sequence[Sequence[str]]  # the head, then the rows; all of one length

_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "*": r"$^{*}$",
    "–": "--",
}


def aligned(grid: Grid, n_words: int = 1) -> list[str]:
    """Lines of cells in columns: the first ones words, to the left, the others figures, to the right."""
    widths = [max(len(row[i]) for row in grid) for i in range(len(grid[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i < n_words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]


def piped(grid: Grid, n_words: int = 1) -> list[str]:
    """Lines of a table of GitHub's Markdown."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in grid]
    rule = [*["---"] * n_words, *["---:"] * (len(head) - n_words)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def booktabs(grid: Grid, n_words: int = 1) -> list[str]:
    """Lines of a tabular of LaTeX that needs the package booktabs."""
    head, *rows = [" & ".join(latex(cell) for cell in row) + r" \\" for row in grid]
    columns = "l" * n_words + "r" * (len(grid[0]) - n_words)
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule"]
    return [*rules, *rows, r"\bottomrule", r"\end{tabular}"]


def latex(text: str) -> str:
    """The text with all that LaTeX would take for a command escaped; a star is raised."""
    return "".join(_LATEX.get(char, char) for char in text)
