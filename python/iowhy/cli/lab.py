"""`iowhy lab`: the five cases and their controls, live on scratch devices."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iowhy.cli._statuses import NO
from iowhy.errors import Problem
from iowhy.lab import disks, filesystems, scenarios, stage
from iowhy.lab.scenario import Scenario
from iowhy.messages import json_text, printable
from iowhy.options.described import group, needed, option, switch, word
from iowhy.options.recordings import check_new
from iowhy.undo import recover

if TYPE_CHECKING:  # slow to import: DuckDB
    from iowhy.lab.verify import Check

ABOUT = "Reproduce known cases on scratch devices, and check that their causes are found."


def _scale(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.05 <= value <= 100:
        raise Problem("not-a-factor", option=option, text=text)
    return value


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where a scenario runs, and how large it is."""

    fs: str | None = option("--fs", help=f"One of {', '.join(filesystems.KINDS)}.")
    device: str | None = option(
        "--device", help=f"One of {', '.join(disks.KINDS)}; iowhy lab list."
    )
    directory: Path | None = option(
        "--dir", help=f"Where the scratch directory is made (default {stage.DEFAULT_PARENT})."
    )
    seed: int = option("--seed", default=1, help="Decides every random choice of a scenario.")
    scale: float = option(
        "--scale",
        default=1.0,
        read=_scale,
        metavar="FACTOR",
        help="Multiplies sizes and counts; by default 1.",
    )


@dataclass(frozen=True, kw_only=True)
class List:
    """What is listed."""

    name: str | None = word(
        "A scenario to describe in full; all of them if not given.", metavar="NAME"
    )
    as_json: bool = switch("--json", help="As JSON.")


@dataclass(frozen=True, kw_only=True)
class Run:
    """Which scenario is run."""

    name: str = needed("Scenario; see iowhy lab list.", metavar="NAME")
    variant: str | None = option(
        "--variant", help="Variant; the first one, which has the cause, if not given."
    )
    on: Stage = group(Stage)
    keep: Path | None = option("--keep", help="Keep the recording under this name.")
    as_json: bool = switch("--json", help="Print the verdict as JSON.")


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Which scenarios are verified."""

    names: tuple[str, ...] = word("Scenarios; all if not given.", default=(), metavar="NAME...")
    on: Stage = group(Stage)
    keep: Path | None = option("--keep", help="Keep the recordings in this directory.")
    as_json: bool = switch("--json", help="Print the result as JSON.")


@dataclass(frozen=True, kw_only=True)
class Clean:
    """How it is said what was undone."""

    as_json: bool = switch("--json", help="As JSON.")


def list_(options: List) -> None:
    """List scenarios, their variants, and devices; with a name all about one."""
    from iowhy.views import lab_tables as view
    from iowhy.views.terminal import console

    name = options.name
    found = scenarios.scenarios() if name is None else (scenarios.scenario(name),)
    if options.as_json:
        listed = [_listed(one) for one in found]
        print(json_text({"version": 1, "scenarios": listed, "devices": disks.KINDS}))
    elif name is None:
        view.show_scenarios(found, disks.KINDS, console())
    else:
        view.show_scenario(found[0], console())


def _listed(one: Scenario) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "case": one.case,
        "variants": {v.name: list(v.causes) for v in one.variants},
        "devices": list(one.devices),
        "filesystems": list(one.filesystems),
    }


def run(options: Run) -> None:
    """Run one scenario and print its verdict."""
    from iowhy.commands.overview import overview
    from iowhy.invocation import typed
    from iowhy.lab import trial
    from iowhy.recordings import open_recording
    from iowhy.views import lab_tables as view
    from iowhy.views import verdict_page

    one = scenarios.scenario(options.name)
    chosen = one.broken if options.variant is None else one.variant(options.variant)
    choice = _choice(one, options.on)
    keep = options.keep
    if keep is not None:
        check_new(keep)
    _say(
        f"{one.name}: {chosen.name} ({chosen.text}) on {choice.fs}, {choice.device}; Ctrl-C ends it"
    )

    def look(recording: Path) -> None:
        found = overview(open_recording(recording))
        verdict_page.print_verdict(found, as_json=options.as_json, kept=False)

    found = trial.run(one, chosen, choice, parent=options.on.directory, keep=keep, look=look)
    if keep is not None:
        _say(
            f"kept in {typed(keep)}; more: iowhy report files {typed(keep)}, or another of iowhy report --list"
        )
    if not options.as_json:
        figures = {k: v for k, v in found.printed.items() if isinstance(v, (int, float))}
        _say("measured: " + ", ".join(f"{k} {view.number(v)}" for k, v in figures.items()))
        right = " or ".join(chosen.right_on(choice.device))
        _say(f"right here: {right}; found: {found.found} ({found.share:.0%})")
        if one.fixed is not None and chosen is one.broken:
            _say(f"prove it: {_with_fix(options, one.fixed.name)}")


def _with_fix(options: Run, variant: str) -> str:
    """The same scenario with its fix, as it is typed: what was prepared for this run is gone."""
    from iowhy.invocation import as_root, joined

    on = options.on
    given = {"--fs": on.fs, "--device": on.device, "--dir": on.directory}
    words = [
        word for flag, value in given.items() if value is not None for word in (flag, str(value))
    ]
    words += [] if on.seed == 1 else ["--seed", str(on.seed)]
    words += [] if on.scale == 1.0 else ["--scale", f"{on.scale:g}"]
    return f"{as_root()} lab run {joined([options.name, '--variant', variant, *words])}"


def verify_(options: Verify) -> None:
    """Run scenarios broken and fixed, and check that the true cause is found. Status 1 if not."""
    from iowhy.lab import verify
    from iowhy.views import lab_tables as view
    from iowhy.views.terminal import console

    stage.check_rights()
    names, on = options.names, options.on
    chosen = [scenarios.scenario(name) for name in names] if names else list(scenarios.scenarios())
    checks: list[Check] = []
    several = "" if len(chosen) == 1 else "s"
    _say(
        f"{len(chosen)} scenario{several}, some minutes for all; Ctrl-C ends it and puts everything back"
    )
    for check in verify.verify(
        chosen,
        fs=on.fs,
        device=on.device,
        seed=on.seed,
        scale=on.scale,
        parent=on.directory,
        keep=options.keep,
        progress=_say,
    ):
        checks.append(check)
        others = 0.0 if check.broken is None else check.broken.others_cpus
        if others >= verify.BUSY_MACHINE_CPUS:
            _say(
                f"  other programs use {others:.1f} CPUs: run it on a quiet machine to judge by it"
            )
        _say(f"  {_outcome(check)}")
    if not checks:
        raise Problem("no-scenario-makes-sense")
    if options.as_json:
        print(json_text(_verified(checks)))
    else:
        view.show_checks(checks, console())
    if any(check.why for check in checks):
        raise SystemExit(NO)


def _outcome(check: "Check") -> str:
    if check.not_run is not None:
        return f"not run: {check.not_run}"
    return "NOT OK: " + "; ".join(check.why) if check.why else "ok"


def _verified(checks: list["Check"]) -> dict[str, Any]:
    from iowhy.lab import verify

    return {
        "version": 1,
        "scenarios": [check.document() for check in checks],
        "confusion": [
            {"expected": expected, "found": found, "count": count, "right": right}
            for expected, found, count, right in verify.confusion(checks)
        ],
        "ok": not any(check.why for check in checks),
    }


def clean(options: Clean) -> None:
    """Undo whatever a lab or an experiment that was killed has left on this machine."""
    done = recover()
    if options.as_json:
        print(json_text({"version": 1, "undone": list(done)}))
        return
    for line in done:
        print(printable(line))
    print(f"{len(done)} actions undone" if done else "nothing to clean")


def _choice(one: Scenario, on: Stage) -> stage.Choice:
    if on.fs is not None and on.fs not in one.filesystems:
        raise Problem(
            "scenario-not-on-filesystem",
            fs=on.fs,
            name=one.name,
            filesystems=", ".join(one.filesystems),
        )
    if on.device is not None and on.device not in one.devices:
        raise Problem(
            "scenario-not-on-device",
            device=on.device,
            name=one.name,
            devices=", ".join(one.devices),
        )
    fs, device = on.fs or one.filesystems[0], on.device or one.devices[0]
    return stage.Choice(fs, device, on.seed, on.scale)


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


COMMANDS = {
    "list": (List, list_),
    "run": (Run, run),
    "verify": (Verify, verify_),
    "clean": (Clean, clean),
}
