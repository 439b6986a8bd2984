"""What was tried and chosen: a table to read, figures as JSON values, and a config file for searches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from seal_ir.arrays import Doubles
from seal_ir.config import SearchConfig
from seal_ir.eval.measures import Column
from seal_ir.eval.significance import Resampling, randomisation_p
from seal_ir.tune.choosing import Choice, score
from seal_ir.tune.ranges import Point, Space

_SHOWN = 10  # settings in the table, the best ones


@dataclass(frozen=True, slots=True)
class Report:
    """All that is told.

    Attributes:
        label: of the questions.
        space: what varied.
        columns: the measures.
        choice: what was chosen.
        search: "grid" or "coordinate".
        seed: of folds and tests.
    """

    label: str
    space: Space
    columns: Sequence[Column]
    choice: Choice
    search: str
    seed: int

    def text(self) -> str:
        """The best settings and the default, then what choosing is worth."""
        choice, n_folds = self.choice, len(self.choice.by_fold)
        heads = [*map(str, self.space.ranges), "mean", *self._labels()]
        heads += [f"fold {i + 1}" for i in range(n_folds)]
        shown = list(dict.fromkeys([*self._ranked()[:_SHOWN], choice.chosen, 0]))
        rows = [heads, *(self._row(i) for i in shown)]
        n, n_tried = len(choice.folds), len(choice.tried)
        measures = ", ".join(column.name for column in self.columns)
        lines = [
            f"{self.label}: {n} questions; {n_tried} settings tried ({self.search}), {n_folds} folds, seed"
            f" {self.seed}; mean of {measures}",
            "",
            *_aligned(rows),
            "",
            *_aligned(self._summary()),
            "",
            self.verdict(),
        ]
        return "\n".join(lines) + "\n"

    def verdict(self) -> str:
        """The chosen setting in words, and whether choosing is better than the default on other questions."""
        choice = self.choice
        chosen = self._named(choice.tried[choice.chosen])
        gain, p = self._gain()
        alike = sum(place == choice.chosen for place in choice.by_fold)
        told = f"chosen: {chosen}; {alike} of {len(choice.by_fold)} choices without a fold are the same"
        if choice.chosen == 0:
            return f"{told}. It is the default"
        if gain <= 0:
            return f"{told}. On questions it was not chosen on it is no better than the default: keep that"
        sure = "" if p < 0.05 else ", which chance may give too"
        return f"{told}. On questions it was not chosen on it gains {gain:.4f} (p = {p:.4f}){sure}"

    def values(self) -> dict[str, Any]:
        """Every figure, unrounded, as plain JSON values."""
        choice = self.choice
        gain, p = self._gain()
        return {
            "questions": self.label,
            "n_topics": len(choice.folds),
            "measures": [column.name for column in self.columns],
            "search": self.search,
            "folds": len(choice.by_fold),
            "seed": self.seed,
            "default": self._figures(choice.values[0]),
            "chosen": {**self._point(choice.chosen), **self._figures(choice.values[choice.chosen])},
            "held_out": {**self._figures(choice.held_out), "gain": gain, "p": p},
            "by_fold": [self._point(place) for place in choice.by_fold],
            "tried": [
                {**self._point(i), **self._figures(values), "by_fold": self._by_fold(i)}
                for i, values in enumerate(choice.values)
            ],
        }

    def toml(self, base: SearchConfig, preset: SearchConfig, keys: str) -> str:
        """The chosen settings as a file for `--config`: whatever is not the preset's, and what was tuned.

        Args:
            base: what does not vary; its decoding is that of the keys.
            preset: that the file is to be used with.
            keys: what made them, in words.
        """
        setting = self.space.setting(self.choice.tried[self.choice.chosen])
        tuned = {found.name for found in self.space.ranges if found.table == "rank"}
        lines = [
            f"# By python -m seal_ir.tune on {_line(self.label)}, {len(self.choice.folds)} questions.",
            f"# {_line(self.verdict())}.",
            f"# For --preset {preset.preset}, with keys of {_line(keys)}.",
        ]
        decode = {
            field.name: value
            for field in fields(base.decode)
            if (value := getattr(base.decode, field.name)) != getattr(preset.decode, field.name)
        }
        rank = {
            field.name: value
            for field in fields(setting.rank)
            if (value := getattr(setting.rank, field.name)) != getattr(preset.rank, field.name)
            or field.name in tuned
        }
        fusion: dict[str, Any] = {}
        if setting.fusion is not None:
            fusion = setting.fusion.settings() | (
                {"depth": setting.fusion.depth} if setting.fusion.depth else {}
            )
        for name, table in (("decode", decode), ("rank", rank), ("fusion", fusion)):
            if table:
                lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines) + "\n"

    def _labels(self) -> list[str]:
        return [column.label for column in self.columns] if len(self.columns) > 1 else []

    def _ranked(self) -> list[int]:
        scores = [score(values) for values in self.choice.values]
        return sorted(range(len(scores)), key=lambda i: (-scores[i], i))

    def _row(self, place: int) -> list[str]:
        values = self.choice.values[place]
        marks = " (default)" * (place == 0) + " (chosen)" * (place == self.choice.chosen)
        means = [float(mean) for mean in np.nanmean(values, axis=0)] if len(self.columns) > 1 else []
        figures = [f"{figure:.4f}" for figure in (score(values), *means, *self._by_fold(place))]
        figures[-1] += marks
        told = self.space.told(self.choice.tried[place]).values()
        return [*("-" if value is None else _toml(value) for value in told), *figures]

    def _by_fold(self, place: int) -> list[float]:
        choice = self.choice
        return [score(choice.values[place, choice.folds == fold]) for fold in range(len(choice.by_fold))]

    def _summary(self) -> list[list[str]]:
        choice = self.choice
        gain, p = self._gain()
        rows = [["", "mean", *self._labels()]]
        for name, values in (
            ("default", choice.values[0]),
            ("chosen, on the same questions", choice.values[choice.chosen]),
            ("chosen on the other folds", choice.held_out),
        ):
            means = np.nanmean(values, axis=0) if len(self.columns) > 1 else []
            rows.append([name, *(f"{figure:.4f}" for figure in (score(values), *means))])
        rows[-1][-1] += f"  {gain:+.4f} against the default, p = {p:.4f}"
        return rows

    def _gain(self) -> tuple[float, float]:
        """Of the held-out values over the default's, with p of a paired randomisation test over topics."""
        held_out, default = self.choice.held_out, self.choice.values[0]
        differences = np.nanmean(held_out - default, axis=1)
        gain = score(held_out) - score(default)
        return gain, randomisation_p(differences, Resampling(seed=self.seed))

    def _figures(self, values: Doubles) -> dict[str, Any]:
        means = {
            column.name: float(mean)
            for column, mean in zip(self.columns, np.nanmean(values, axis=0), strict=True)
        }
        return {"mean": score(values), "figures": means}

    def _point(self, place: int) -> dict[str, Any]:
        told = self.space.told(self.choice.tried[place])
        return {"settings": {name: value for name, value in told.items() if value is not None}}

    def _named(self, point: Point) -> str:
        told = self.space.told(point)
        return ", ".join(f"{name} = {_toml(value)}" for name, value in told.items() if value is not None)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _toml(value: Any) -> str:
    """A setting's value as TOML has it; of its numbers, texts and lists JSON's spelling is one."""
    plain = list(value) if isinstance(value, tuple) else value
    return json.dumps(plain, ensure_ascii=False, allow_nan=False)


def _line(text: str) -> str:
    """Text that cannot end a comment, nor spoil it."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
