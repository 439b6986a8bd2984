"""Cells as aligned text, as Markdown and as LaTeX."""

from __future__ import annotations

import pytest

from seal_ir.eval.grids import aligned, booktabs, latex, piped

GRID = [["system", "topics", "P@1"], ["a|b", "all", "0.5"], ["a longer one", "", "10.25"]]


def test_words_to_the_left_and_figures_to_the_right() -> None:
    assert aligned(GRID) == [
        "system        topics    P@1",
        "a|b              all    0.5",
        "a longer one          10.25",
    ]
    assert aligned(GRID, 2) == [
        "system        topics    P@1",
        "a|b           all       0.5",
        "a longer one          10.25",
    ]
    assert aligned([["a", "bb"], ["ccc", ""]], 2) == ["a    bb", "ccc"]  # no blanks at the end
    with pytest.raises(ValueError, match="zip"):  # a cell without a head is no cell to lose
        aligned([["a"], ["b", "c"]])


def test_markdown() -> None:
    assert piped(GRID) == [
        "| system | topics | P@1 |",
        "| --- | ---: | ---: |",
        "| a\\|b | all | 0.5 |",
        "| a longer one |  | 10.25 |",
    ]
    assert piped(GRID, 2)[1] == "| --- | --- | ---: |"


def test_booktabs() -> None:
    assert booktabs([["a_b", "P@1"], ["x & y", "50 %"]]) == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a\_b & P@1 \\",
        r"\midrule",
        r"x \& y & 50 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert booktabs(GRID, 2)[0] == r"\begin{tabular}{llr}"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a&b%c$d#e_f{g}", r"a\&b\%c\$d\#e\_f\{g\}"),
        ("\\~^", r"\textbackslash{}\textasciitilde{}\textasciicircum{}"),
        ("<|>*–", r"$<$$|$$>$$^{*}$--"),
        ("plain, 1.5 é", "plain, 1.5 é"),
    ],
)
def test_nothing_is_a_command_of_latex(text: str, escaped: str) -> None:
    assert latex(text) == escaped
