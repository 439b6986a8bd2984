"""Which settings are tried: a TOML file of ranges, and the points of the space that they span."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.config import RankConfig
from seal_ir.config_files import updated
from seal_ir.errors import UsageError, shown
from seal_ir.search.fusion import Fusion
from seal_ir.structured import load_toml

RANK, FUSION = "rank", "fusion"
MOST_VALUES = 200  # of one setting
MOST_POINTS = 5_000  # of a grid
_STEPPED = {"from", "to", "step"}
Point = tuple[Any, ...]  # a value for each range


class Setting(NamedTuple):
    """All that a ranking is made under.

    Attributes:
        rank: how keys become scores.
        fusion: how rankings are fused, without what does not count under its method; None where none is.
    """

    rank: RankConfig
    fusion: Fusion | None


class Range(NamedTuple):
    """The values of one setting that are tried.

    Attributes:
        table: RANK or FUSION.
        name: of the setting there.
        values: in the order of the file.
    """

    table: str
    name: str
    values: Sequence[Any]

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"


@dataclass(frozen=True, slots=True)
class Space:
    """The settings that ranges span around a base.

    Attributes:
        ranges: what varies.
        rank, fusion: the base; settings without a range stay as they are there.
    """

    ranges: Sequence[Range]
    rank: RankConfig
    fusion: Fusion | None

    @property
    def default(self) -> Point:
        """The base as a point, whether its values are in the ranges or not."""
        tables = {RANK: self.rank, FUSION: self.fusion}
        return tuple(getattr(tables[table], name) for table, name, _ in self.ranges)

    def grid(self) -> list[Point]:
        """Every combination, the last range varying fastest.

        Raises:
            UsageError: there are more than `MOST_POINTS`.
        """
        n = math.prod(len(values) for _, _, values in self.ranges)
        if n > MOST_POINTS:
            raise UsageError(
                f"the ranges have {n:,} combinations; a grid tries {MOST_POINTS:,} at most: give fewer"
                " values, or --search coordinate"
            )
        return list(itertools.product(*(values for _, _, values in self.ranges)))

    def setting(self, point: Point) -> Setting:
        """What a point means.

        Raises:
            UsageError: the settings refuse the values.
        """
        tables: dict[str, dict[str, Any]] = {RANK: {}, FUSION: {}}
        for (table, name, _), value in zip(self.ranges, point, strict=True):
            tables[table][name] = list(value) if isinstance(value, tuple) else value
        rank = updated(self.rank, tables[RANK])
        return Setting(rank, None if self.fusion is None else _counting(updated(self.fusion, tables[FUSION])))

    def told(self, point: Point) -> dict[str, Any]:
        """The values of a point by the names of the ranges; None where one says nothing beside the others."""
        fusion = self.setting(point).fusion
        return {
            str(varied): None
            if varied.table == FUSION and fusion and not fusion.counts(varied.name)
            else value
            for varied, value in zip(self.ranges, point, strict=True)
        }

    def pairs(self) -> list[Point]:
        """All points that differ from the base in two ranges at most."""
        points = {self.default: None}
        for i, j in itertools.combinations_with_replacement(range(len(self.ranges)), 2):
            for point in self.around(self.default, i):
                points.update(dict.fromkeys(self.around(point, j)))
        return list(points)

    def around(self, point: Point, at: int) -> list[Point]:
        """The points that differ from one in range `at` only, the point itself first."""
        others = [(*point[:at], value, *point[at + 1 :]) for value in self.ranges[at].values]
        return list(dict.fromkeys([point, *others]))


def read_space(path: Path, rank: RankConfig, fusion: Fusion | None) -> Space:
    """The space of a TOML file: tables `[rank]` and `[fusion]` with values of settings, or from, to and step.

    Args:
        path: the file.
        rank: the base.
        fusion: likewise; None where nothing is fused.

    Raises:
        UsageError: the file cannot be read, has no ranges, names a setting that does not exist, or has a
            value that means nothing; says which.
    """
    try:
        tables = load_toml(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot read ranges: {error}") from error
    unknown = sorted(set(tables) - {RANK, FUSION})
    if unknown:
        hint = "; keys have been decoded already" if unknown[0] == "decode" else ""
        raise UsageError(
            f"{path}: unknown table {shown(unknown[0])}; ranges live in [rank] and [fusion]{hint}"
        )
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {name} = {shown(table)} must be a table, [{name}]")
    if FUSION in tables and fusion is None:
        raise UsageError(f"{path}: has a [fusion] table, but nothing is fused; name runs with --fuse")
    try:
        ranges = [
            Range(table, name, _values(f"{table}.{name}", given))
            for table, found in tables.items()
            for name, given in found.items()
        ]
        if not ranges:
            raise UsageError("has no ranges; give values to try, such as [rank] alpha = [1.0, 1.5, 2.0]")
        space = Space(ranges, rank, fusion)
        _check_names(space)
        for point in space.pairs():  # settings refuse values by themselves, or beside one other
            space.setting(point)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return space


def _check_names(space: Space) -> None:
    for table, name, values in space.ranges:
        base: Any = space.rank if table == RANK else space.fusion
        if name not in {field.name for field in fields(base)}:
            updated(base, {name: values[0]})  # says which names are known


def distinct(space: Space, points: Iterable[Point]) -> list[Point]:
    """The first point of each setting: some settings do not count beside others, such as rrf_k elsewhere."""
    first: dict[Setting, Point] = {}
    for point in points:
        first.setdefault(space.setting(point), point)
    return list(first.values())


def _values(name: str, given: Any) -> list[Any]:
    if isinstance(given, dict):
        return _stepped(name, given)
    if not isinstance(given, list):
        raise UsageError(
            f"{name} = {shown(given)} is no range; give a list of values or {{ from = A, to = B, step = C }}"
        )
    if not given:
        raise UsageError(f"{name} = [] has no values; give some, or leave it out")
    if len(given) > MOST_VALUES:
        raise UsageError(f"{name} has {len(given):,} values; give {MOST_VALUES:,} at most")
    values = [tuple(value) if isinstance(value, list) else value for value in given]
    twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
    if twice is not None:
        raise UsageError(f"{name} holds {shown(twice)} twice; each value is tried once")
    return values


def _stepped(name: str, given: dict[str, Any]) -> list[Any]:
    """From, from + step, ... up to `to`, itself included."""
    if set(given) != _STEPPED or not all(type(number) in (int, float) for number in given.values()):
        raise UsageError(f"{name} = {shown(given)} is no range; it needs the numbers from, to and step")
    first, last, step = given["from"], given["to"], given["step"]
    if not all(map(math.isfinite, (first, last, step))) or not step > 0 or not last >= first:
        raise UsageError(
            f"{name}: from {first} to {last} by {step} has no values; step up from the lower one"
        )
    n = math.floor((last - first) / step + 1e-9)
    if n >= MOST_VALUES:
        raise UsageError(f"{name}: from {first} to {last} by {step} has {n + 1:,} values; give fewer")
    return [value if isinstance(value := first + i * step, int) else round(value, 10) for i in range(n + 1)]


def _counting(fusion: Fusion) -> Fusion:
    return updated(Fusion(depth=fusion.depth), fusion.settings())
