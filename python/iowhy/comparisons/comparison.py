"""Two or more sides against the first: time, layers, findings, and whether it got worse."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from msgspec import Struct

from iowhy.comparisons.changed_statements import ChangedStatement, changed_statements
from iowhy.comparisons.code_paths import ChangedPath, changed_paths
from iowhy.comparisons.fingerprints import Fate, bottleneck, fates
from iowhy.comparisons.latencies import Latency, call_latencies, latencies
from iowhy.comparisons.layers import Changed, Part, changed, parts
from iowhy.comparisons.sides import Side
from iowhy.comparisons.stages import Stage, done_in, stages
from iowhy.comparisons.work import Rate, agree, rates
from iowhy.experiments.interval import Interval, TwoSamples
from iowhy.recordings.row_counts import in_words
from iowhy.relations import Relations
from iowhy.whys.facts import Facts
from iowhy.whys.verdict import Verdict, judge, verdict_of


class Comparison(Struct, frozen=True):
    """One side against another. ``time`` is None when a side's time is not known."""

    before: Side
    after: Side
    time: TwoSamples | None
    parts: tuple[Part, ...]
    changed: tuple[Changed, ...]
    fates: tuple[Fate, ...]
    #: Of runs of a fixed duration, what they did in a second; () of others.
    rates: tuple[Rate, ...] = ()
    #: How long requests took, of the typical recordings.
    latencies: tuple[Latency, ...] = ()
    call_latencies: tuple[Latency, ...] = ()
    #: Of recordings with user stacks.
    paths: tuple[ChangedPath, ...] = ()
    #: What is to be known of the recordings: one that is not whole.
    notes: tuple[str, ...] = ()
    #: Phases of the typical recordings; () where one is even.
    stages: tuple[Stage, ...] = ()
    #: Of recordings with statements of databases.
    statements: tuple[ChangedStatement, ...] = ()

    @property
    def slower(self) -> Interval | None:
        """How many times slower AFTER is; without an interval from fewer than 3 runs of each.

        Of runs of a fixed duration it is by what they did in a second; None where that cannot decide.
        """
        if self.rates:
            nan = float("nan")
            return Interval(1 / self.rates[0].ratio, nan, nan) if agree(self.rates) else None
        if self.time is None:
            return None
        nan = float("nan")
        return self.time.ratio or Interval(self.time.plain_ratio, nan, nan)


class Step(Struct, frozen=True):
    """One line of the log of successive changes."""

    side: Side
    seconds: float | None
    against_baseline: Interval | None
    against_previous: Interval | None
    bottleneck: str


OnStep = Callable[[str], None]
"""Where progress goes: what is done now."""


def compare(before: Side, after: Side) -> Comparison:
    """Compares two sides."""
    return compare_all([before, after])[0]


def compare_all(sides: Sequence[Side], on_step: OnStep = lambda _: None) -> tuple[Comparison, ...]:
    """Compares each side with the first one."""
    with _known(sides[0], on_step) as first:
        return tuple(_against(first, after, on_step) for after in sides[1:])


_Known = tuple[Side, Verdict, Relations]
"""A side, and of its typical recording the verdict and what can be asked."""


@contextmanager
def _known(side: Side, on_step: OnStep) -> Iterator[_Known]:
    on_step(f"judging {side.label}")
    with Facts(side.typical) as facts:
        with side.typical.damage_named():
            verdict = verdict_of(facts)
        yield side, verdict, facts.relations


def _against(first: _Known, after: Side, on_step: OnStep) -> Comparison:
    with _known(after, on_step) as other:
        return _compare(first, other)


def _compare(one: _Known, other: _Known) -> Comparison:
    (before, first, asked), (after, second, asked_after) = one, other
    found = parts(first, second)
    return Comparison(
        before=before,
        after=after,
        time=_time(before, after),
        parts=found,
        changed=changed(asked, asked_after, found),
        fates=fates((first, asked.recording.manifest), (second, asked_after.recording.manifest)),
        rates=rates(before, after, asked, asked_after),
        latencies=latencies(asked, asked_after),
        call_latencies=call_latencies(asked, asked_after),
        paths=changed_paths(asked, asked_after),
        notes=tuple(
            in_words(verdict.mismatches, side.typical.path)
            for side, verdict in ((before, first), (after, second))
            if verdict.mismatches
        ),
        stages=stages(
            (first.phases, done_in(first.phases, asked)),
            (second.phases, done_in(second.phases, asked_after)),
        ),
        statements=changed_statements(asked, asked_after),
    )


def log(sides: Sequence[Side], on_step: OnStep = lambda _: None) -> tuple[Step, ...]:
    """Successive changes, each against the first and against the one before it."""
    steps = []
    for index, side in enumerate(sides):
        on_step(f"judging {side.label}")
        steps.append(
            Step(
                side=side,
                seconds=median(side.seconds) if side.seconds else None,
                against_baseline=_slower(sides[0], side) if index else None,
                against_previous=_slower(sides[index - 1], side) if index else None,
                bottleneck=bottleneck(judge(side.typical)),
            )
        )
    return tuple(steps)


def regressed(slower: Interval | None, limit: float) -> bool:
    """Whether it got slower by more than ``limit``, and not by chance as far as can be known.

    Its interval must be above 1; without one nothing is known: see `resolvable`.
    """
    if slower is None or not slower.known or slower.value <= 1 + limit:
        return False
    return slower.low > 1


def longer(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether chance does not explain that the second times are longer: the whole interval of the ratio is above 1."""
    from iowhy.experiments.statistics import two_samples

    ratio = two_samples(before, after).ratio
    return ratio is not None and ratio.low > 1


def resolvable(slower: Interval | None) -> bool:
    """Whether a change of time differs from chance: of two single runs one is slower half of the time."""
    return slower is not None and slower.known


def _time(before: Side, after: Side) -> TwoSamples | None:
    if not before.seconds or not after.seconds:
        return None
    from iowhy.experiments.statistics import two_samples

    return two_samples(before.seconds, after.seconds)


def _slower(before: Side, after: Side) -> Interval | None:
    found = _time(before, after)
    if found is None:
        return None
    return found.ratio or Interval(found.plain_ratio, float("nan"), float("nan"))
