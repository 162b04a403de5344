"""`iowhy lab`: the five cases and their controls, live on scratch devices."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from iowhy.errors import Problem
from iowhy.lab import disks, filesystems, scenario, stage, trial, verify
from iowhy.lab.verify import Check
from iowhy.recording import open_recording
from iowhy.undo import recover
from iowhy.views import show
from iowhy.views.terminal import console

app = typer.Typer(
    add_completion=False,
    help="Reproduce known cases on scratch devices, and check that their causes are found.",
    no_args_is_help=True,
)

_Fs = Annotated[str | None, typer.Option("--fs", help=f"One of {', '.join(filesystems.KINDS)}.")]
_Device = Annotated[
    str | None, typer.Option("--device", help=f"One of {', '.join(disks.KINDS)}; iowhy lab list.")
]
_Dir = Annotated[
    Path | None,
    typer.Option(
        "--dir", help=f"Where the scratch directory is made (default {stage.DEFAULT_PARENT})."
    ),
]
_Seed = Annotated[int, typer.Option(help="Decides every random choice of a scenario.")]
_Scale = Annotated[float, typer.Option(help="Multiplies sizes and counts.", min=0.05, max=100.0)]


@app.command("list")
def list_(
    name: Annotated[
        str | None, typer.Argument(help="A scenario to tell all about; all of them if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List scenarios, their variants, and devices; with a name all about one."""
    found = scenario.scenarios() if name is None else (scenario.scenario(name),)
    if as_json:
        print(
            json.dumps(
                {
                    "scenarios": [
                        {
                            "name": one.name,
                            "title": one.title,
                            "case": one.case,
                            "variants": {v.name: list(v.causes) for v in one.variants},
                            "devices": list(one.devices),
                            "filesystems": list(one.filesystems),
                        }
                        for one in found
                    ],
                    "devices": disks.KINDS,
                }
            )
        )
        return
    out = console()
    if name is not None:
        _one(found[0], out)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("scenario", "case", "variants", "expected", "what"):
        table.add_column(heading, no_wrap=heading in ("scenario", "case"))
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
    for kind, text in disks.KINDS.items():
        out.print(f"--device {kind:<11} {text}")


def _one(one: scenario.Scenario, out: Console) -> None:
    case = "" if one.case is None else f" (case {one.case})"
    out.print(f"{one.name}{case}: {one.title}")
    out.print()
    table = Table(box=None, pad_edge=False)
    for heading in ("variant", "what", "right here"):
        table.add_column(heading, no_wrap=heading == "variant")
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


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Scenario; see iowhy lab list.")],
    variant: Annotated[
        str | None, typer.Option(help="Variant; the first one, which has the cause, if not given.")
    ] = None,
    fs: _Fs = None,
    device: _Device = None,
    keep: Annotated[Path | None, typer.Option(help="Keep the recording under this name.")] = None,
    dir_: _Dir = None,
    seed: _Seed = 1,
    scale: _Scale = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Run one scenario and print its verdict."""
    one = scenario.scenario(name)
    chosen = one.broken if variant is None else one.variant(variant)
    choice = _choice(one, fs, device, seed, scale)
    _say(f"{one.name}: {chosen.name} ({chosen.text}) on {choice.fs}, {choice.device}")

    def look(recording: Path) -> None:
        show.verdict(open_recording(recording), as_json=as_json, kept=False)

    found = trial.run(one, chosen, choice, parent=dir_, keep=keep, look=look)
    if keep is not None:
        _say(f"kept in {show.typed(keep)}; more: iowhy report NAME {show.typed(keep)}")
    if not as_json:
        figures = {k: v for k, v in found.printed.items() if isinstance(v, (int, float))}
        _say("measured: " + ", ".join(f"{k} {_number(v)}" for k, v in figures.items()))
        right = " or ".join(chosen.right_on(choice.device))
        _say(f"right here: {right}; found: {found.found} ({found.share:.0%})")


@app.command("verify")
def verify_(
    names: Annotated[list[str] | None, typer.Argument(help="Scenarios; all if not given.")] = None,
    fs: _Fs = None,
    device: _Device = None,
    dir_: _Dir = None,
    seed: _Seed = 1,
    scale: _Scale = 1.0,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the recordings in this directory.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run scenarios broken and fixed, and check that the true cause is found. Status 1 if not."""
    stage.check_rights()
    chosen = [scenario.scenario(name) for name in names] if names else list(scenario.scenarios())
    checks: list[Check] = []
    for check in verify.verify(
        chosen, fs=fs, device=device, seed=seed, scale=scale, parent=dir_, keep=keep, progress=_say
    ):
        checks.append(check)
        others = 0.0 if check.broken is None else check.broken.others_cpus
        if others >= verify.BUSY_MACHINE_CPUS:
            _say(
                f"  other programs use {others:.1f} CPUs: run it on a quiet machine to judge by it"
            )
        _say(f"  {'ok' if check.ok else 'NOT OK: ' + '; '.join(check.why)}")
    if not checks:
        raise Problem("no scenario makes sense on this --fs and --device; see iowhy lab list")
    if as_json:
        print(
            json.dumps(
                {
                    "scenarios": [check.document() for check in checks],
                    "confusion": [
                        {"expected": expected, "found": found, "count": count, "right": right}
                        for expected, found, count, right in verify.confusion(checks)
                    ],
                    "ok": all(check.ok for check in checks),
                }
            )
        )
    else:
        _tables(checks, console())
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@app.command()
def clean() -> None:
    """Undo whatever a lab or an experiment that was killed has left on this machine."""
    done = recover()
    for line in done:
        print(line)
    print(f"{len(done)} actions undone" if done else "nothing to clean")


def _choice(
    one: scenario.Scenario, fs: str | None, device: str | None, seed: int, scale: float
) -> stage.Choice:
    if fs is not None and fs not in one.filesystems:
        raise Problem(f"--fs {fs}: {one.name} runs on {', '.join(one.filesystems)}")
    if device is not None and device not in one.devices:
        raise Problem(f"--device {device}: {one.name} runs on {', '.join(one.devices)}")
    return stage.Choice(fs or one.filesystems[0], device or one.devices[0], seed, scale)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _tables(checks: list[Check], out: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("scenario", "expected", "found", "claims", "saves", "fixed", ""):
        table.add_column(heading, justify="right" if heading in ("claims", "saves") else "left")
    for check in checks:
        fixed = check.fixed
        table.add_row(
            f"{check.scenario.name} ({check.choice.fs}, {check.choice.device})",
            check.scenario.broken.causes[0],
            "–" if check.broken is None else check.broken.found,
            "–" if check.broken is None else f"{check.broken.share:.0%}",
            "–" if check.gain is None else f"{check.gain:.0%}",
            "–" if fixed is None else f"{fixed.found} {fixed.share:.0%}",
            "ok" if check.ok else "NOT OK",
        )
    out.print(table)
    for check in checks:
        for text in check.why:
            out.print(f"{check.scenario.name}: {text}", style="bold red")
    figures = Table(box=None, pad_edge=False)
    for heading in ("figure", "published", "fixed", "here", "fixed"):
        figures.add_column(heading, justify="left" if heading == "figure" else "right")
    for check in checks:
        for figure in check.scenario.figures:
            here = [
                None if one is None else figure.here(one.printed)
                for one in (check.broken, check.fixed)
            ]
            figures.add_row(
                f"{check.scenario.name}: {figure.name} ({figure.unit})",
                *(_number(value) for value in (figure.broken, figure.fixed, *here)),
            )
    if figures.row_count:
        out.print()
        out.print(figures)
    confusion = Table(box=None, pad_edge=False)
    for heading in ("expected", "found", "times", ""):
        confusion.add_column(heading, justify="right" if heading == "times" else "left")
    for expected, cause, count, right in verify.confusion(checks):
        confusion.add_row(expected, cause, str(count), "" if right else "wrong")
    out.print()
    out.print(confusion)
    out.print()
    out.print(f"{sum(check.ok for check in checks)} of {len(checks)} scenarios right")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
