"""The lab on the terminal: its scenarios, and what `verify` found."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from iowhy.lab.scenario import Scenario
from iowhy.lab.verify import Check, confusion


def show_scenarios(found: Sequence[Scenario], devices: Mapping[str, str], out: Console) -> None:
    """All scenarios, a line each, then the kinds of devices."""
    table = _table("scenario", "case", "variants", "expected", "what", whole=("scenario", "case"))
    for one in found:
        table.add_row(
            one.name,
            "" if one.case is None else str(one.case),
            ", ".join(variant.name for variant in one.variants),
            one.broken.causes[0],
            one.title,
        )
    out.print(table)
    out.print()
    for kind, text in devices.items():
        out.print(f"--device {kind:<11} {text}")


def show_scenario(one: Scenario, out: Console) -> None:
    """All about one."""
    case = "" if one.case is None else f" (case {one.case})"
    out.print(f"{one.name}{case}: {one.title}")
    out.print()
    table = _table("variant", "what", "right here", whole=("variant",))
    for variant in one.variants:
        table.add_row(variant.name, variant.text, " or ".join(variant.causes))
    out.print(table)
    for variant in one.variants:
        for device, causes in variant.elsewhere.items():
            out.print(f"{variant.name} on {device}: {' or '.join(causes)} is right too")
    out.print()
    out.print(f"--device {', '.join(one.devices)}    --fs {', '.join(one.filesystems)}")
    if one.tools:
        out.print(f"runs {', '.join(one.tools)}")
    if one.figures:
        out.print(f"measures {', '.join(figure.name for figure in one.figures)}")


def show_checks(checks: Sequence[Check], out: Console) -> None:
    """Expected and found, what is not right, the figures next to those published, what was taken for what."""
    _verified(checks, out)
    for check in checks:
        if check.not_run is not None:
            out.print(f"{check.scenario.name}: not run: {check.not_run}")
        for text in check.why:
            out.print(f"{check.scenario.name}: {text}", style="bold red")
    _figures(checks, out)
    _confusion(checks, out)
    run = [check for check in checks if check.not_run is None]
    without = "" if len(run) == len(checks) else f", {len(checks) - len(run)} not run"
    out.print(f"{sum(check.ok for check in run)} of {len(run)} scenarios right{without}")


def number(value: float | None) -> str:
    """Three digits; a dash for what is not known."""
    return "–" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _verified(checks: Sequence[Check], out: Console) -> None:
    heads = ("scenario", "expected", "found", "claims", "could save", "saves", "fixed", "")
    table = _table(*heads, right=("claims", "could save", "saves"))
    for check in checks:
        broken, fixed = check.broken, check.fixed
        table.add_row(
            f"{check.scenario.name} ({check.choice.fs}, {check.choice.device})",
            check.scenario.broken.causes[0],
            "–" if broken is None else broken.found,
            "–" if broken is None else f"{broken.share:.0%}",
            "–" if check.could_save is None else f"{check.could_save:.0%}",
            "–" if check.gain is None else f"{check.gain:.0%}{_by_remedy(check)}",
            "–" if fixed is None else f"{fixed.found} {fixed.share:.0%}",
            "not run" if check.not_run else "ok" if check.ok else "NOT OK",
        )
    out.print(table)


def _by_remedy(check: Check) -> str:
    """Which of the printed remedies the fix is: ` (1 of 4)`; nothing if that is not said of the scenario."""
    tried = check.tried
    if tried is None:
        return ""
    return f" (none of {tried.of})" if tried.number is None else f" ({tried.number} of {tried.of})"


def _figures(checks: Sequence[Check], out: Console) -> None:
    heads = ("figure", "published", "fixed", "here", "fixed")
    table = _table(*heads, right=heads[1:])
    for check in checks:
        for figure in check.scenario.figures:
            here = [
                None if one is None else figure.here(one.printed)
                for one in (check.broken, check.fixed)
            ]
            table.add_row(
                f"{check.scenario.name}: {figure.name} ({figure.unit})",
                *(number(value) for value in (figure.broken, figure.fixed, *here)),
            )
    if table.row_count:
        out.print()
        out.print(table)


def _confusion(checks: Sequence[Check], out: Console) -> None:
    table = _table("expected", "found", "times", "", right=("times",))
    for expected, cause, count, right in confusion(checks):
        table.add_row(expected, cause, str(count), "" if right else "wrong")
    out.print()
    out.print(table)
    out.print()


def _table(*heads: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right" if head in right else "left", no_wrap=head in whole)
    return table
