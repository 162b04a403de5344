"""The five cases, each solved by one command: writes docs/cases.md with real output.

python -m benchmarks.cases
"""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from rich.console import Console

from iowhy.commands.overview import overview
from iowhy.lab import trial, verify
from iowhy.lab.scenario import Scenario
from iowhy.lab.scenarios import scenario as find
from iowhy.lab.scenarios import scenarios
from iowhy.lab.stage import Choice
from iowhy.lab.verify import Check
from iowhy.recordings import open_recording
from iowhy.undo import recover
from iowhy.units import percent
from iowhy.views import verdict_page

PAGE = Path(__file__).parents[1] / "docs" / "cases.md"

HEAD = """\
# Five cases

<!-- Made by `python -m benchmarks.cases`. -->

Five published investigations, each of which took an expert hours or days and many tools. The lab reproduces them on
scratch filesystems and emulated disks ([lab.md](lab.md)); one `iowhy run` finds the cause. `iowhy lab run NAME` shows any
of them on your machine.
"""

# What the expert found, and with what.
TOLD = {
    1: "An in-memory database on AIX wrote its files at 10 MB/s to disks that do 100. truss, curt, a system trace, filemon "
    "and fileplace led to the layout: eight threads had filled a file created empty, which ended in pieces.",
    2: "A FreeBSD kernel build on two CPUs took 716 s. One change at a time, with top, vmstat and the clock, showed one CPU "
    "full and the other idle (make -j2: 681 s), then the disk (output on other disks, soft updates: 663 s).",
    3: "Two Android devices were equal in plain I/O, but one had half the database transactions per second. fdatasync covered "
    "most of each transaction. Thread states, iostat and squeezing one resource at a time showed that it was CPU time.",
    4: "A service that encrypts and uploads took hours for 100 GB files and minutes for 40 GB ones. iostat, biolatency and "
    "bitesize showed a healthy device; cachestat and free showed that each pass reads again what the page cache cannot hold.",
    5: "After a kernel upgrade the same hardware wrote many small synced files at half the speed. blktrace, SystemTap and "
    "latencytop (over 90 % in fsync) led to the new kernel, which flushes the device's cache at each fsync.",
}


SUMMARY = """\
| case | scenario | first finding | share of the time | fix | saves |
|---|---|---|--:|---|--:|"""


def main() -> int:
    """Run each case broken and fixed, and write the page."""
    recover()
    sections: list[str] = []
    rows = [SUMMARY]
    seen: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="iowhy-cases.", dir="/var/tmp") as name:
        keep = Path(name)
        for scenario in scenarios():
            if scenario.case is not None and scenario.name != "build-steps":
                for check in verify.verify([scenario], keep=keep, progress=_say):
                    rows.append(_row(scenario, check))
                    sections.append(_section(scenario, check, keep, scenario.case not in seen))
                    seen.add(scenario.case)
        sections.append(_log_of_changes(keep))
    PAGE.write_text("\n".join([HEAD, "\n".join(rows) + "\n", *sections]))
    return 0


def _log_of_changes(keep: Path) -> str:
    """Case 2's steps, each against the baseline, as `iowhy compare --baseline` shows them."""
    steps = find("build-steps")
    recordings = []
    for variant in steps.variants:
        _say(f"{steps.name}: {variant.name}")
        recordings.append(keep / f"{variant.name}.iowhy")
        trial.run(steps, variant, Choice("ext4", "hdd"), keep=recordings[-1])
    printed = subprocess.run(
        [sys.executable, "-m", "iowhy", "compare", "--baseline", *map(str, recordings)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    named = "\n".join(f"- `{variant.name}`: {variant.text}" for variant in steps.variants)
    return (
        "## Case 2, step by step\n\nOne change at a time, each against the same baseline "
        f"(`iowhy compare --baseline`):\n\n{named}\n\n```\n"
        + printed.replace(f"{keep}/", "").rstrip()
        + "\n```\n"
    )


def _row(scenario: Scenario, check: Check) -> str:
    found = check.document()
    share, gain = (
        "–" if found[key] is None else percent(float(str(found[key]))) for key in ("share", "gain")
    )
    fix = "–" if scenario.fixed is None else scenario.fixed.text
    return f"| {scenario.case} | `{scenario.name}` | {found['found']} | {share} | {fix} | {gain} |"


def _section(scenario: Scenario, check: Check, keep: Path, first: bool) -> str:
    assert scenario.case is not None
    lines = [
        f"## {scenario.case}. {scenario.title}",
        "",
        *([textwrap.fill(TOLD[scenario.case], 120), ""] if first else ()),
        f"`iowhy lab run {scenario.name}` ({scenario.broken.text}), on {check.choice.fs}, {check.choice.device}:",
        "",
        "```",
    ]
    name = f"{scenario.name}-{scenario.broken.name}-{check.choice.fs}-{check.choice.device}-{check.choice.seed}"
    lines += [_shown(keep / f"{name}.iowhy"), "```", ""]
    figures = check.document()["figures"]
    if figures:
        lines += [
            "| | published | here | published, fixed | here, fixed |",
            "|---|---|---|---|---|",
        ]
        for figure in figures:
            cells = [
                "–" if figure[key] is None else f"{figure[key]:,.4g} {figure['unit']}"
                for key in ("published_broken", "broken", "published_fixed", "fixed")
            ]
            lines.append(f"| {figure['name']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _shown(recording: Path) -> str:
    out = io.StringIO()
    opened = open_recording(recording)
    with contextlib.redirect_stdout(out):
        verdict_page.show(overview(opened), Console(file=out, width=100, highlight=False))
    # Where this machine has the lab's files, the recordings and the programs says nothing to a reader.
    here = rf"/\S*/iowhy-(?:lab-\w+|cases\.\w+)/|{re.escape(sys.prefix)}/bin/|/sys/fs/cgroup/\S*(?=/iowhy-)"
    text = re.sub(here, "", out.getvalue())
    return text.split("\nSure?")[0].rstrip()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
