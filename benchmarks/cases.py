"""The five cases, each solved by one command: writes docs/cases.md with real output.

python -m benchmarks.cases
"""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
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

Five real investigations, each done by an expert over hours or days with many tools. The lab reproduces them
on scratch filesystems and emulated disks; below is what one command says, and what the fix gains, here and as
published. `iowhy lab run NAME` shows any of them on your machine.
"""

# What the expert did, in a few sentences.
TOLD = {
    1: "An in-memory database on AIX wrote its data files at ten MB/s on disks that do a hundred. Eight threads "
    "each mapped 4 MiB of a file, filled it and called msync. The expert went from truss and curt (msync waits, it "
    "does not compute) through a system trace of one thread (a 4 MiB msync becomes many 4 KiB writes) and filemon "
    "(99.9 % seeks) to fileplace: the file, created empty and filled by eight threads at once, lay in pieces.",
    2: "A FreeBSD kernel build on two CPUs took 716 s. Step by step, one change at a time against the same baseline, "
    "the expert found one CPU full and the other idle (make -j2: 681 s), then the disk in the way (output on other "
    "disks, soft updates: 663 s). The tools were top, vmstat, and the clock.",
    3: "Two Android devices did alike in plain I/O, but one had half the database transactions per second. The trace "
    "showed fdatasync covering most of each transaction, which looks like storage. Thread states, iostat and experiments "
    "that squeezed one resource at a time showed the opposite: the time in fdatasync was CPU time.",
    4: "A service that encrypts and uploads took hours for 100 GB files and minutes for 40 GB ones. iostat, biolatency "
    "and bitesize showed a loaded but healthy device; cachestat and free showed why: the service passes over the file "
    "several times, and what does not fit into the page cache is read again on every pass.",
    5: "After a kernel upgrade the same hardware wrote many small synced files at half the speed. blktrace and "
    "SystemTap showed scattered writes, latencytop over 90 % of the time in fsync: the new kernel's default flushes "
    "the device's cache at each fsync.",
}


def main() -> int:
    """Run each case broken and fixed, and write the page."""
    recover()
    parts = [HEAD]
    with tempfile.TemporaryDirectory(prefix="iowhy-cases.", dir="/var/tmp") as name:
        keep = Path(name)
        for scenario in scenarios():
            if scenario.case is not None and scenario.name != "build-steps":
                for check in verify.verify([scenario], keep=keep, progress=_say):
                    parts.append(_section(scenario, check, keep))
        parts.append(_log_of_changes(keep))
    PAGE.write_text("\n".join(parts))
    return 0


def _log_of_changes(keep: Path) -> str:
    """Case 2's steps, each against the baseline, as `iowhy compare --baseline` tells them."""
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


def _section(scenario: Scenario, check: Check, keep: Path) -> str:
    assert scenario.case is not None
    lines = [
        f"## {scenario.case}. {scenario.title}",
        "",
        TOLD[scenario.case],
        "",
        f"`iowhy lab run {scenario.name}` ({scenario.broken.text}), on {check.choice.fs}, {check.choice.device}:",
        "",
        "```",
    ]
    name = f"{scenario.name}-{scenario.broken.name}-{check.choice.fs}-{check.choice.device}-{check.choice.seed}"
    lines += [_shown(keep / f"{name}.iowhy"), "```", ""]
    if check.gain is not None and check.fixed is not None and scenario.fixed is not None:
        lines.append(
            f"With the fix ({scenario.fixed.text}) the run takes {percent(check.gain)} less time, "
            f"and what is found then is {check.fixed.found}."
        )
    figures = check.document()["figures"]
    if figures:
        lines += [
            "",
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
    return text.split("\nkept in")[0].rstrip()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
