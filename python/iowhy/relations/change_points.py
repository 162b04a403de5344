"""Phases: where the elapsed time is cut, because what it goes into changes, or what the device does that is waited for.

Cells of the budget (relations/budget/phase_cells.sql) become points; a penalised optimal partition of them into stretches, each
near its mean (Jackson et al. 2005), gives the cuts. The penalty grows with how much points differ from those shortly before them, so
that what goes up and down all along is even. A cut within a cell is where the cell's own mixture puts it; of long recordings, finer cells
around it are looked at.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from operator import add

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations.facts import RecordedFacts
from iowhy.tables import budget_classes

#: Points of the first look: what takes longer to cut than to judge nobody waits for.
MOST_POINTS = 300
#: Phases at most; of fewer points than this nothing is said.
MOST, LEAST_POINTS = 7, 12
#: How short a phase may be: of the elapsed time, and within these bounds.
LEAST_SHARE, LEAST_NS, MOST_LEAST_NS = 0.05, 400_000_000, 1_000_000_000
#: Of the elapsed time, what is no more than the start or end of a program.
EDGE_SHARE = 0.1
#: Of the shortest, what is left where a phase ends within cells.
WHOLE = 0.75
#: How far two neighbours must be from each other: 0.4 is when 28 % of the time moves from one class to another, or the
#: device that all wait for becomes four times slower.
DISTANCE = 0.4
#: Of the noise of one point, its logarithm's factor in what a cut must bring.
NOISE = 3.0
#: Penalties that are tried until there are few enough phases: the last one is thousands of times the first.
MOST_TRIES = 24
#: Weights of the device's numbers: doublings of requests and of bytes, from some on; and of CPUs that are wanted.
_REQUESTS, _BYTES, _CPUS = 50.0, float(1 << 20), 1.25
_DOUBLINGS = 7.0
_NO_WAITS = ("user", "kernel", "runnable", "recorder")

Point = tuple[float, ...]


class Phase(Struct, frozen=True):
    """One phase, from 1; times in ns from the start of the elapsed time."""

    number: int
    begin_ns: int
    end_ns: int


class Grid(Struct, frozen=True):
    """How the elapsed time is cut into cells (budget_grid)."""

    elapsed_ns: int
    grid_ns: int
    last_cell: int


def with_phases(
    facts: RecordedFacts, found: Sequence[Phase], causes: Sequence[str | None] = ()
) -> RecordedFacts:
    """Facts that know the phases, perhaps with the leading cause of each."""
    known = causes or [None] * len(found)
    pairs = zip(found, known, strict=True)
    return replace(facts, phases=tuple((one.begin_ns, one.end_ns, cause) for one, cause in pairs))


#: Asks for rows of a query.
Ask = Callable[[str], Sequence[tuple[object, ...]]]


def phases(ask: Ask, timed: bool) -> tuple[Phase, ...]:
    """The phases of what was recorded; one of all of it where it is even, none where no time is known."""
    if not timed:
        return ()
    ((elapsed_ns, grid_ns, last_cell),) = ask(
        "SELECT elapsed_ns, grid_ns, last_cell FROM budget_grid"
    )
    grid = Grid(int(str(elapsed_ns)), int(str(grid_ns)), int(str(last_cell)))
    cuts = _cuts(ask, grid)
    edges = [0, *cuts, grid.elapsed_ns]
    return tuple(
        Phase(number, begin, end) for number, (begin, end) in enumerate(pairwise(edges), 1)
    )


def _cuts(ask: Ask, grid: Grid) -> list[int]:
    together = -(-(grid.last_cell + 1) // MOST_POINTS)
    points = _points(ask, grid, together, 0, grid.last_cell)
    # The last cell may be a sliver.
    long_ns = together * grid.grid_ns
    least_ns = min(max(LEAST_SHARE * grid.elapsed_ns, LEAST_NS), MOST_LEAST_NS)
    found = change_points(points, max(1, round(least_ns / long_ns)))
    cuts: dict[int, int] = {}
    for at, (before, after) in zip(found, _neighbours(points, found), strict=True):
        first, near, size = at - 1, points[at - 1 : at + 1], together
        if together > 1:
            # Cells of the grid from one point before the cut to one after it.
            start = max(0, (at - 1) * together)
            near = _points(ask, grid, 1, start, min(grid.last_cell, (at + 1) * together - 1))
            first, size = start, 1
        cuts[at] = round((first + _divided(near, before, after)) * size * grid.grid_ns)
    kept = _long_enough(cuts, grid.elapsed_ns, least_ns * WHOLE)
    return [cuts[at] for at in unlike(_Sums(points), kept)] if kept else []


def _long_enough(cuts: Mapping[int, int], elapsed_ns: int, least_ns: float) -> list[int]:
    """Without what divided cells leave too short, and without a program's own start and end."""
    edge_ns = min(max(EDGE_SHARE * elapsed_ns, least_ns), MOST_LEAST_NS)
    kept: list[int] = []
    for at, cut in cuts.items():
        before = cuts[kept[-1]] + least_ns if kept else 0
        if max(edge_ns, before) <= cut <= elapsed_ns - edge_ns:
            kept.append(at)
    return kept


def _points(ask: Ask, grid: Grid, together: int, first: int, last: int) -> list[Point]:
    """Cells as points, `together` of them as one."""
    rows = ask(
        f"""SELECT cell // {together} AS place, part, sum(amount) AS amount FROM phase_cells
        WHERE cell >= {first} AND cell <= {last} GROUP BY 1, 2 ORDER BY 1, 2"""
    )
    by_cell: dict[int, dict[str, float]] = {}
    for place, part, amount in rows:
        by_cell.setdefault(int(str(place)), {})[str(part)] = float(str(amount))
    every = range(first // together, last // together + 1)
    return [_point(by_cell.get(at, {}), _length_ns(grid, at, together)) for at in every]


def _length_ns(grid: Grid, at: int, together: int) -> int:
    begin = at * together * grid.grid_ns
    last = (at + 1) * together > grid.last_cell
    return max(1, grid.elapsed_ns - begin if last else together * grid.grid_ns)


def _point(found: dict[str, float], ns: int) -> Point:
    shares = {name: found.get(name, 0.0) / ns for name in budget_classes() if name != "idle"}
    waits = min(1.0, sum(shares.values()) - sum(shares[name] for name in _NO_WAITS))
    per_s = 1e9 / ns
    device = (
        math.log2(1 + found.get("requests", 0.0) * per_s / _REQUESTS) / _DOUBLINGS,
        math.log2(1 + found.get("bytes", 0.0) * per_s / _BYTES) / _DOUBLINGS,
    )
    return (
        *shares.values(),
        max(0.0, 1.0 - sum(shares.values())),
        math.log2(1 + found.get("cpus", 0.0) / ns) / _CPUS,
        # What the device does counts as much as it is waited for.
        *(waits * one for one in device),
    )


def change_points(points: Sequence[Point], least: int) -> list[int]:
    """The indexes at which another stretch begins: each at least so long, and unlike the one before; at most MOST - 1."""
    if len(points) < max(LEAST_POINTS, 2 * least):
        return []
    sums = _Sums(points)
    costs = [
        [
            sums.cost(first, end) if first == 0 or first >= least else math.inf
            for first in range(end - least + 1)
        ]
        for end in range(len(points) + 1)
    ]
    penalty = max(_noise(points) * NOISE * math.log(len(points)), least * DISTANCE**2)
    for _ in range(MOST_TRIES):
        found = _partition(costs, penalty)
        if len(found) < MOST:
            return unlike(sums, found)
        penalty *= 1.5
    return []


class _Sums:
    """Sums of points and of their squares up to each, so that the cost of any stretch is one distance."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points: list[Point] = [(0.0,) * len(points[0])]
        self.squares = [0.0]
        for one in points:
            self.points.append(tuple(a + b for a, b in zip(self.points[-1], one, strict=True)))
            self.squares.append(self.squares[-1] + sum(value * value for value in one))

    def __len__(self) -> int:
        return len(self.points) - 1

    def cost(self, first: int, end: int) -> float:
        """Squared distances of the stretch from its mean."""
        whole = math.dist(self.points[end], self.points[first])
        return self.squares[end] - self.squares[first] - whole * whole / (end - first)

    def mean(self, first: int, end: int) -> Point:
        number = end - first
        pairs = zip(self.points[end], self.points[first], strict=True)
        return tuple((a - b) / number for a, b in pairs)


def _noise(points: Sequence[Point]) -> float:
    """Variance of a point: half of the usual squared distance from one shortly before it, at the distance where that is most.

    Few changes move no median; what goes up and down all along does, at half its period.
    """
    lags = (1, 2, 3, 4, 6, 8, 12, 16)
    most = 0.0
    for lag in lags:
        if lag > max(1, len(points) // 16):
            break
        pairs = zip(points, points[lag:], strict=False)
        distances = sorted(math.dist(a, b) for a, b in pairs)
        most = max(most, distances[len(distances) // 2] ** 2 / 2)
    return most


def _partition(costs: Sequence[Sequence[float]], penalty: float) -> list[int]:
    """The cuts whose stretches cost least together, each cut costing the penalty as well; `costs` by end and begin."""
    best, begins = [-penalty], [0]
    for by_begin in costs[1:]:
        sums = list(map(add, best, by_begin))
        lowest = min(sums, default=math.inf)
        begins.append(sums.index(lowest) if sums else 0)
        best.append(lowest + penalty)
    cuts, end = [], len(costs) - 1
    while begins[end]:
        end = begins[end]
        cuts.append(end)
    return cuts[::-1]


def unlike(sums: _Sums, cuts: list[int]) -> list[int]:
    """Without cuts between neighbours that are nearly alike, those that are most alike first."""
    while cuts:
        edges = [0, *cuts, len(sums)]
        means = [sums.mean(a, z) for a, z in pairwise(edges)]
        apart = [math.dist(a, b) for a, b in pairwise(means)]
        if min(apart) >= DISTANCE:
            break
        del cuts[apart.index(min(apart))]
    return cuts


def _neighbours(points: Sequence[Point], cuts: Sequence[int]) -> list[tuple[Point, Point]]:
    sums = _Sums(points) if points else None
    edges = [0, *cuts, len(points)]
    means = [] if sums is None else [sums.mean(a, z) for a, z in pairwise(edges)]
    return list(pairwise(means))


def _divided(points: Sequence[Point], before: Point, after: Point) -> float:
    """Where in these cells one mean ends and the other begins. A cell with both is a mixture of them."""
    nearer = [math.dist(one, before) ** 2 - math.dist(one, after) ** 2 for one in points]
    costs = list(accumulate(nearer, initial=0.0))
    at = costs.index(min(costs))
    whole = math.dist(before, after) ** 2
    part = 0.0
    for one in points[max(0, at - 1) : at + 1]:
        share = sum((z - p) * (z - a) for a, z, p in zip(before, after, one, strict=True)) / whole
        part += min(1.0, max(0.0, share))
    return max(0, at - 1) + part
