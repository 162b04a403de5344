"""Comparisons on the terminal."""

from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.comparisons.changed_statements import ChangedStatement
from iowhy.comparisons.commands import CommandComparison
from iowhy.comparisons.comparison import Comparison, Step
from iowhy.comparisons.fingerprints import Fate
from iowhy.comparisons.latencies import Latency
from iowhy.comparisons.layers import Changed
from iowhy.comparisons.stages import Done, Stage, slowest
from iowhy.comparisons.work import agree
from iowhy.experiments.command import shown
from iowhy.experiments.interval import Interval, TwoSamples
from iowhy.experiments.result import Result
from iowhy.experiments.sentence import times, with_interval
from iowhy.sentences import worded
from iowhy.views.experiment_page import counted, measure
from iowhy.views.terminal import Field, paragraph, print_rows
from iowhy.whys.facts.locked import cut

_COLOURS = {
    "gone": "green",
    "weaker": "bright_green",
    "unchanged": "bright_black",
    "stronger": "red",
    "new": "yellow",
    "not known": "yellow",
}
_MEASURES_SHOWN = 8
_ROWS_SHOWN, _FATES_SHOWN = 4, 5
# Less is what rounding leaves.
_PART_SHOWN_S = 1e-6


def show(found: Comparison, console: Console, *, whole: bool = False) -> None:
    """How much faster, which causes are gone, where the time went and what changed; `whole`: latencies and code, and all rows."""
    paragraph(console, headline(found), "bold")
    for text in evidence(found.time, len(found.before.seconds), len(found.after.seconds)):
        paragraph(console, text, "bright_black")
    for text in found.notes:
        paragraph(console, text, "yellow")
    slower = slowest(found.stages)
    if slower is not None and slower.before_s and slower.after_s:
        each, before, after = slower.each or ("", slower.before_s * 1e9, slower.after_s * 1e9)
        said = worded(
            "phase-slower",
            "Phase {phase} ({cls}) became slower: {before:ns} → {after:ns}"
            + (" per {each}." if each else "."),
            phase=slower.before,
            cls=slower.cls,
            before=before,
            after=after,
            each=each,
        )
        paragraph(console, said)
    if found.fates:
        console.print()
        for fate in found.fates[: None if whole else _FATES_SHOWN]:
            paragraph(console, fate_text(fate), _COLOURS[fate.fate])
    most = None if whole else _ROWS_SHOWN
    _section(console, "Time", PART_HEADS, part_rows(found)[:most])
    _section(console, "Phases", STAGE_HEADS, stage_rows(found))
    _section(console, "Statements, one run of each", STATEMENT_HEADS, statement_rows(found))
    _section(console, "What changed", LAYER_HEADS, layer_rows(found)[: most or _MEASURES_SHOWN])
    if whole:
        _section(console, "Requests", LATENCY_HEADS, latency_rows(found.latencies))
        calls = ("calls", *LATENCY_HEADS[1:])
        _section(console, "Calls", calls, latency_rows(found.call_latencies))
        _section(console, "Code, of all threads", PATH_HEADS, path_rows(found))
    else:
        console.print()
        console.print(Text("More     --evidence adds latencies, code, and all rows", "dim"))


def _section(
    console: Console, title: str, heads: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    if rows:
        console.print()
        console.print(Text(title, style="bold"))
        _table(console, heads, rows)


PART_HEADS = ("spent", "before", "after", "difference", "of all")
STAGE_HEADS = ("phase", "mostly", "before", "after", "difference", "calls")
STATEMENT_HEADS = ("statement", "runs", "before", "after", "mostly")
#: Columns of words.
IN_WORDS = ("mostly",)
LATENCY_HEADS = ("requests", "median", "p90", "p99", "p99.9", "longest")
LAYER_HEADS = ("measure", "before", "after", "change")
PATH_HEADS = ("path", "before", "after", "difference")


def part_rows(found: Comparison) -> list[tuple[object, ...]]:
    """Where the difference of the elapsed time is, by class (PART_HEADS)."""
    return [
        (
            part.name,
            units.duration(part.before_s * 1e9),
            units.duration(part.after_s * 1e9),
            _signed(part.difference_s),
            _explained(part.explains),
        )
        for part in found.parts
        if max(part.before_s, part.after_s) >= _PART_SHOWN_S
    ]


def stage_rows(found: Comparison) -> list[tuple[object, ...]]:
    """How long each phase took (STAGE_HEADS)."""
    return [
        (
            _numbers(one),
            one.cls,
            "–" if one.before_s is None else units.duration(one.before_s * 1e9),
            "–" if one.after_s is None else units.duration(one.after_s * 1e9),
            _signed(one.difference_s),
            f"{_calls(one.before_done)} → {_calls(one.after_done)}",
        )
        for one in found.stages
    ]


def _numbers(one: Stage) -> str:
    """`3`, or `3 → 2–5` where it is several on the other side."""
    first, last = one.before or one.after, one.before_last or one.after_last
    said = str(first) if first == last else f"{first}–{last}"
    if one.before is None or one.after is None or one.after == one.after_last:
        return said
    return f"{said} → {one.after}–{one.after_last}"


def _calls(done: Done | None) -> str:
    return "–" if done is None else f"{done.calls:,}"


def statement_rows(found: Comparison) -> list[tuple[object, ...]]:
    """Which statements of databases take more or less time, and what of it changed most (STATEMENT_HEADS)."""
    return [
        (
            one.statement,
            f"{one.before_runs:,} → {one.after_runs:,}",
            _latency(one.before_ns),
            _latency(one.after_ns),
            _why(one),
        )
        for one in found.statements
    ]


def fields_of(heads: Sequence[str], left: tuple[int, ...] = (0,)) -> list[Field]:
    """Columns of texts: those of words, and `left`, begin on the left."""
    return [Field(head, str, left=at in left or head in IN_WORDS) for at, head in enumerate(heads)]


def _why(one: ChangedStatement) -> str:
    """What of it changed most, and of what or for whom that is."""
    reads = one.part == "reading" and one.object is not None
    waits = one.part.startswith("locks") and one.holder is not None
    said = [
        one.part
        + (f" {one.object} ({one.reads})" if reads else "")
        + (f", held by `{cut(one.holder or '')}`" if waits else "")
    ]
    if one.spilled_bytes:
        said.append(f"spills {units.size(one.spilled_bytes)} a run")
    return "; ".join(said)


def layer_rows(found: Comparison) -> list[tuple[object, ...]]:
    """What changed at each layer (LAYER_HEADS)."""
    return [
        (
            one.measure.title,
            units.amount(one.before, one.measure.unit),
            units.amount(one.after, one.measure.unit),
            _change_of(one),
        )
        for one in found.changed
    ]


def latency_rows(found: Sequence[Latency]) -> list[tuple[object, ...]]:
    """Percentiles side by side (LATENCY_HEADS)."""
    return [
        (
            one.what,
            *(
                f"{_latency(first)} → {_latency(second)}"
                for first, second in zip(one.before, one.after, strict=True)
            ),
        )
        for one in found
    ]


def _latency(value: float | None) -> str:
    return "–" if value is None else units.duration(value)


def path_rows(found: Comparison) -> list[tuple[object, ...]]:
    """Which paths of functions take more or less time (PATH_HEADS)."""
    return [
        (
            one.path,
            units.duration(one.before_ns),
            units.duration(one.after_ns),
            _signed((one.after_ns - one.before_ns) / 1e9),
        )
        for one in found.paths
    ]


def _explained(share: float | None) -> str:
    if share is None:
        return ""
    return "0 %" if abs(share) < 0.0005 else units.percent(share).replace("-", "−")


def headline(found: Comparison) -> str:
    """How AFTER compares with BEFORE, in one sentence."""
    slower, after, before = found.slower, found.after.label, found.before.label
    if found.rates:
        return f"{after} compared with {before}: {_by_rate(found)}"
    if slower is None:
        return f"{after} compared with {before}: the elapsed time of one of them is not known"
    medians = [
        median(side.seconds) if side.seconds else None for side in (found.before, found.after)
    ]
    took = (
        ""
        if None in medians
        else f" ({' → '.join(units.duration(one * 1e9) for one in medians if one is not None)})"
    )
    if slower.known and slower.low <= 1 <= slower.high:
        return f"{after} is not measurably faster or slower than {before}{took}: {times(slower)}"
    if f"{slower.value:.2f}" == "1.00":
        return f"{after} takes as long as {before}{took}"
    return f"{after} is {times(slower)} than {before}{took}"


def _by_rate(found: Comparison) -> str:
    """Runs of a fixed duration: what was done in a second, or that this is not known."""
    words = ", ".join(
        f"{one.name} {_per_second(one.before_per_s, one.unit)} → {_per_second(one.after_per_s, one.unit)}"
        for one in found.rates
    )
    if not agree(found.rates):
        return (
            f"not comparable: both ran for a fixed time and did more of one thing and less of another ({words}). "
            "Let them do a fixed amount of work, or compare what they print (--metric)"
        )
    ratio = found.rates[0].ratio
    said = f"{ratio:.2f} times as much" if ratio >= 0.995 else f"{1 / ratio:.2f} times less"
    return f"in the same fixed time it did {said} ({words})"


def _per_second(amount: float, unit: str) -> str:
    return units.rate(amount) if unit == "bytes" else f"{amount:,.0f}/s"


def evidence(time: TwoSamples | None, before: int, after: int) -> list[str]:
    """How sure the difference is: effect size first, then both tests."""
    if time is None:
        return []
    if time.p_mann_whitney is None or time.p_permutation is None:
        runs = "1 run of each" if before == after == 1 else f"{before} and {after} runs"
        return [f"{runs}: record 3 or more of each to know how sure this is"]
    return [
        f"the second takes longer in {time.superiority * 100:.0f} % of pairs of runs; p {time.p_mann_whitney:.2g} (Mann-Whitney), {time.p_permutation:.2g} (permutation), "
        f"{before} and {after} runs"
    ]


def fate_text(fate: Fate) -> str:
    """``sync-storm is gone: 12.1 s → 0 s (11.9 s could be saved)``."""
    absent = "0 s" if fate.why is None else f"not known, because {fate.why}"
    first = absent if fate.before_s is None else units.duration(fate.before_s * 1e9)
    second = absent if fate.after_s is None else units.duration(fate.after_s * 1e9)
    saved = ""
    if fate.fate in ("gone", "weaker") and fate.could_save_s is not None:
        saved = f" (at best {units.duration(fate.could_save_s * 1e9)} could be saved)"
    return f"{fate.cause} is {fate.fate}: {first} → {second}{saved}"


def show_log(steps: Sequence[Step], console: Console) -> None:
    """Successive changes against one baseline."""
    table = [
        (
            step.side.label,
            "unknown" if step.seconds is None else units.duration(step.seconds * 1e9),
            _change(step.against_baseline),
            _change(step.against_previous),
            step.bottleneck,
        )
        for step in steps
    ]
    heads = ("change", "time", "to baseline", "to previous", "bottleneck")
    _table(console, heads, table, left=(0, 4))


def show_commands(result: Result, found: Sequence[CommandComparison], console: Console) -> None:
    """Each command against the first: the answer, then what was measured, then how sure it is."""
    baseline = shown(result.command)
    for one in found:
        text = f"{one.command} compared with {baseline}: "
        if not one.resolved:
            text += "no measurable difference" + (
                f" (about {one.more_runs:,} more runs of each would show one): "
                if one.more_runs
                else ": "
            )
        text += times(one.slower)
        paragraph(console, text, "bold")
    console.print()
    against = ["", *(with_interval(one.slower) for one in found)]
    names = [baseline, *(one.command for one in found)]
    table = []
    for name, condition, ratio in zip(names, result.conditions, against, strict=True):
        values = [trial.measure for trial in result.kept(condition)]
        cells = [
            measure(value, result.unit) for value in (median(values), min(values), max(values))
        ]
        table.append((name, len(values), *cells, ratio))
    heads = ("command", "runs", f"{result.measure}, median", "least", "most", "times slower")
    _table(console, heads, table)
    console.print()
    for one, condition in zip(found, result.conditions[1:], strict=True):
        runs = len(result.kept(result.conditions[0])), len(result.kept(condition))
        for line in evidence(one.samples, *runs):
            paragraph(console, f"{one.command}: {line}", "bright_black", 2)
    notes = [
        f"{result.blocks} blocks in random order, seed {result.seed}, cache "
        f"{result.settings.get('cache', 'as-is')}; intervals are of 95 %"
    ]
    if result.repeated:
        notes.append(f"{counted(result.repeated, 'disturbed run')} repeated")
    paragraph(console, "; ".join(notes), "bright_black", 2)


def _change(slower: Interval | None) -> str:
    if slower is None:
        return ""
    text = f"{(slower.value - 1) * 100:+.1f} %"
    if slower.known:
        text += f" ({(slower.low - 1) * 100:+.1f} to {(slower.high - 1) * 100:+.1f})"
    return text


def _signed(seconds: float) -> str:
    return ("+" if seconds >= 0 else "−") + units.duration(abs(seconds) * 1e9)


def _change_of(one: Changed) -> str:
    if one.ratio is None:
        return "from 0" if one.before == 0 else "to 0" if one.after == 0 else ""
    return _factor(one.ratio)


def _factor(ratio: float) -> str:
    """× 1.25 or, where it became less, ÷ 15,300: no exponents, nothing below 1."""
    sign, factor = ("÷", 1 / ratio) if 0 < ratio < 1 else ("×", ratio)
    return f"{sign} {factor:,.0f}" if factor >= 100 else f"{sign} {factor:.3g}"


def _table(
    console: Console,
    heads: Sequence[str],
    table: Sequence[Sequence[object]],
    left: tuple[int, ...] = (0,),
) -> None:
    print_rows(console, fields_of(heads, left), table)
