"""An experiment on the terminal, and as Markdown."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.experiments.circumstances import Circumstances, Ran, circumstances
from iowhy.experiments.command import shown
from iowhy.experiments.condition import BASELINE, Condition
from iowhy.experiments.interval import Interval
from iowhy.experiments.lever_answer import Answer, Response, Verdict
from iowhy.experiments.predicted import Compared
from iowhy.experiments.result import Judged, Result, save_json
from iowhy.experiments.sentence import plain, with_interval
from iowhy.masking import masked
from iowhy.messages import printable
from iowhy.options.experiment import Options
from iowhy.views.terminal import WIDTH, Field, paragraph, print_rows, shorten
from iowhy.written_files import put

_COLOURS = {
    Verdict.BOUND: "red",
    Verdict.PARTLY: "yellow",
    Verdict.NOT_BOUND: "green",
    Verdict.OTHER_WAY: "magenta",
    Verdict.UNRESOLVED: "bright_black",
}
_SAID = {
    Verdict.BOUND: "limits it",
    Verdict.PARTLY: "limits it in part",
    Verdict.NOT_BOUND: "does not limit it",
    Verdict.OTHER_WAY: "it got slower with more of it",
    Verdict.UNRESOLVED: "not known yet",
}
_PLOT_WIDTH = 40
_LABEL_WIDTH = 40
_VALUE_WIDTH = 10  # of the margins, and of the ratio behind the plot
_BUSY_CPUS = 0.5
_NOTES_SHOWN = 2


def show(result: Result, console: Console, *, whole: bool = False) -> None:
    """What binds the command, how it answers each lever, what that makes of the findings; `whole`: what was measured, and all notes."""
    paragraph(console, result.sentence, "bold", hang=0)
    if whole:
        console.print()
        fields, table = _table(result)
        print_rows(console, fields, table)
    console.print()
    for line in plot(result.answers, console.width):
        console.print(line, soft_wrap=True)
    console.print()
    for one in result.answers:
        colour = _COLOURS[one.verdict]
        paragraph(console, f"{one.lever}: {verdict_text(one)}", colour, 2)
    for judged in result.findings:
        paragraph(console, finding_text(judged), indent=2)
    for pair in result.compared:
        paragraph(console, compared_text(pair), indent=2)
    notes = limits(circumstances(result))
    shown_notes = notes if whole else notes[:_NOTES_SHOWN]
    for text in shown_notes:
        paragraph(console, text, "bright_black", 2)
    if not whole:
        more = (
            f", {len(notes) - len(shown_notes)} more notes" if len(shown_notes) < len(notes) else ""
        )
        console.print()
        console.print(Text(f"More     --evidence adds what was measured{more}", "dim"))


def markdown(result: Result) -> str:
    """The same as a Markdown page."""
    lines = [f"# {result.sentence}", "", f"`{printable(shown(result.command))}`", ""]
    fields, table = _table(result)
    lines.append("| " + " | ".join(field.heading for field in fields) + " |")
    lines.append("|" + "|".join(":---" if field.left else "---:" for field in fields) + "|")
    for row in table:
        cells = [field.write(value) for field, value in zip(fields, row, strict=True)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines.append("")
    lines += [f"- {one.lever}: {verdict_text(one)}" for one in result.answers]
    lines += [f"- {finding_text(one)}" for one in result.findings]
    lines += [f"- {compared_text(one)}" for one in result.compared]
    lines += [f"- {text}" for text in limits(circumstances(result))]
    return "\n".join(lines) + "\n"


def finding_text(one: Judged) -> str:
    """``sync-storm is confirmed (sync-free: bound by), now 86 % sure``."""
    before, after = f"{one.confidence_before * 100:.0f} %", f"{one.confidence_after * 100:.0f} %"
    sure = f"still {before} sure" if before == after else f"{before} → {after} sure"
    return f"{one.cause} is {one.outcome} ({one.because}), {sure}"


def compared_text(one: Compared) -> str:
    """What was predicted for the same change, and whether it came so."""
    said = "as predicted" if one.agree else "not as predicted"
    return (
        f"{one.lever} is {said} (what-if: {with_interval(one.predicted)} times as long, "
        f"measured: {with_interval(one.measured)})"
    )


def verdict_text(one: Answer) -> str:
    """The verdict of a lever with its sensitivity, or with what is missing."""
    text = _SAID[one.verdict]
    if one.sensitivity is not None:
        text += f"; sensitivity {_interval(one.sensitivity, '.2f')}"
    if one.share is not None:
        text += f"; {_share(one.share)} % of the time depends on it"
    if one.why_unresolved:
        text += f": {one.why_unresolved}"
    if one.more_blocks:
        more = "over 1,000" if one.more_blocks > 1000 else f"about {one.more_blocks}"
        runs = f" (--runs {one.blocks + one.more_blocks})" if one.more_blocks <= 1000 else ""
        text += f"; {more} more runs of each would show it{runs}"
    return text


def limits(of: Circumstances) -> list[str]:
    """What the reader must know to judge the answer."""
    out = list(of.notes)
    out += [f"{name} could not act: {why}" for name, why in of.left_out]
    out += [f"{name} gave no answer: {why}" for name, why in of.failed]
    by_condition: dict[str, list[Ran]] = {}
    for trial in of.trials:
        by_condition.setdefault(trial.condition, []).append(trial)
    out += [text for name, kept in by_condition.items() if (text := _reached(name, kept))]
    if of.repeated:
        again = counted(of.repeated, "disturbed trial")
        out.append(f"{again} run again, because others used the machine")
    if of.kept_disturbed:
        out.append(
            f"{counted(of.kept_disturbed, 'disturbed trial')} kept, because the machine was never quiet"
        )
    # Without a lever: a busy loop of ours counts as others'.
    plain_runs = by_condition.get(BASELINE.name, [])
    busy = [trial.others_cpus for trial in plain_runs if trial.others_cpus is not None]
    if busy and sum(busy) / len(busy) > _BUSY_CPUS:
        out.append(
            f"other processes used {sum(busy) / len(busy):.1f} CPUs during the trials, which no lever could take away"
        )
    if of.seed is not None:
        out.append(
            f"{of.blocks} blocks of trials in random order, seed {of.seed}, cache {of.cache}; "
            "intervals are of 95 %"
        )
    return out


_RATES = {
    "contention_bytes_per_s": "the background writer reached",
    "throttled_bytes_per_s": "the command reached",
}


def _reached(condition: str, kept: Sequence[Ran]) -> str | None:
    """What a lever really reached, which is what counts."""
    for name, words in _RATES.items():
        rates = [trial.reached[name] for trial in kept if name in trial.reached]
        if rates:
            rate = f"{sum(rates) / len(rates) / 1e6:.3g} MB/s"
            left = [trial.factor for trial in kept if trial.factor is not None]
            share = f"; it left {sum(left) / len(left) * 100:.0f} % of the device" if left else ""
            return f"{condition}: {words} {rate}{share}"
    pieces = [trial.reached for trial in kept if "pieces" in trial.reached]
    if pieces:
        return (
            f"{condition}: the files are in {pieces[0]['pieces_before']:,.0f} pieces, the copies "
            f"in {pieces[0]['pieces']:,.0f}"
        )
    return None


def _table(result: Result) -> tuple[list[Field], list[list[object]]]:
    """The conditions with what was measured; columns in which nothing is known are left out."""
    answers = {one.lever: one for one in result.answers}
    table: list[tuple[object, ...]] = []
    for condition in result.conditions:
        kept = result.kept(condition)
        if not kept:
            continue
        values = sorted(trial.measure for trial in kept)
        middle = math.exp(sum(math.log(value) for value in values) / len(values))
        cpu = [
            t.user_s + t.system_s for t in kept if t.user_s is not None and t.system_s is not None
        ]
        moved = [t.device_bytes for t in kept if t.device_bytes is not None]
        table.append(
            (
                condition.lever or "baseline",
                "" if condition.level is None else condition.level.label,
                len(kept),
                measure(middle, result.unit),
                units.duration(sum(cpu) / len(cpu) * 1e9) if cpu else "",
                units.size(sum(moved) / len(moved)) if moved else "",
                _slower(answers, condition),
            )
        )
    known = [at for at in range(len(_FIELDS)) if any(row[at] for row in table)]
    return [_FIELDS[at] for at in known], [[row[at] for at in known] for row in table]


_FIELDS = (
    Field("lever", str, left=True),
    Field("level", str, left=True),
    Field("runs", str),
    Field("measured", str),
    Field("CPU", str),
    Field("disk, by all", str),
    Field("times slower", str),
)


def _slower(answers: dict[str, Answer], condition: Condition) -> str:
    if condition == BASELINE or condition.lever not in answers or condition.level is None:
        return ""
    for response in answers[condition.lever].responses:
        if response.key == condition.level.key:
            return with_interval(response.slower)
    return ""


def plot(answers: Sequence[Answer], width: int = WIDTH) -> list[Text]:
    """One line per level: a mark at how many times slower, its interval as a bar, on a log scale."""
    levels = [(one.lever, r) for one in answers for r in one.responses]
    if not levels:
        return []
    low, high = _scale([r for _, r in levels])
    label = min(_LABEL_WIDTH, width // 3, max(len(f"{lever} {r.label}") for lever, r in levels))
    cells = min(_PLOT_WIDTH, width - label - _VALUE_WIDTH)
    lines = []
    for lever, r in levels:
        name = shorten(f"{lever} {r.label}", label).ljust(label)
        lines.append(Text(f"  {name} {_marks(r, low, high, cells)} {plain(r.slower.value)}"))
    axis = f"{math.exp(low):.2g} times".ljust(cells - 6) + f"{math.exp(high):.2g}"
    lines.append(Text(f"  {' ' * label} {axis}", style="bright_black"))
    return lines


def _scale(responses: Sequence[Response]) -> tuple[float, float]:
    """The logarithms of the ratios at both ends."""
    ends = [0.95, 1.05]
    for one in responses:
        value = one.slower.value
        # An interval that is very wide must not squeeze all others into one mark.
        if one.slower.known:
            ends += [max(one.slower.low, value / 4), min(one.slower.high, value * 4)]
        else:
            ends.append(value)
    return math.log(max(min(ends), 1e-3)), math.log(min(max(ends), 1e3))


def _marks(one: Response, low: float, high: float, cells: int) -> str:
    def cell(value: float) -> int:
        share = (math.log(min(max(value, 1e-3), 1e3)) - low) / (high - low)
        return min(cells - 1, max(0, round(share * (cells - 1))))

    marks = [" "] * cells
    marks[cell(1.0)] = "│"
    if one.slower.known:
        for at in range(cell(one.slower.low), cell(one.slower.high) + 1):
            marks[at] = "─"
    marks[cell(one.slower.value)] = "●"
    return "".join(marks)


def _interval(found: Interval, form: str) -> str:
    if not found.known:
        return f"{found.value:{form}}"
    return f"{found.value:{form}} ({found.low:{form}} to {found.high:{form}})"


def _share(found: Interval) -> str:
    """A share of the time in percent; an interval far below 0 just says that nothing is known."""
    if not found.known:
        return f"{found.value * 100:.0f}"
    low = "any" if found.low < -1 else f"{found.low * 100:.0f}"
    return f"{found.value * 100:.0f} ({low} to {found.high * 100:.0f})"


def counted(number: int, what: str) -> str:
    """``1 disturbed trial was``, ``2 disturbed trials were``."""
    return f"{number:,} {what} was" if number == 1 else f"{number:,} {what}s were"


def measure(value: float, unit: str) -> str:
    """What was measured, in its unit."""
    if unit == "s":
        return units.duration(value * 1e9)
    text = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def save(found: Result, options: Options) -> None:
    """Writes it where the options say. Raises Problem."""
    if options.exports.export_json is not None:
        save_json(options.exports.export_json, found, force=options.exports.force)
    if options.export_markdown is not None:
        text = markdown(found)
        put(
            options.export_markdown,
            text if options.keep_secrets else masked(text),
            force=options.exports.force,
        )
