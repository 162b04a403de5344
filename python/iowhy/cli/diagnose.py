"""`iowhy diagnose`: the chain of whys from what other tools printed."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy import units
from iowhy.cli._ending import end_after
from iowhy.errors import Problem
from iowhy.messages import json_text, say
from iowhy.options.described import option, switch, word
from iowhy.options.process_ids import pids_given
from iowhy.options.recordings import check_new, recording_kept
from iowhy.recordings import box
from iowhy.sources import live
from iowhy.views.progress import ProgressLine, working

if TYPE_CHECKING:  # slow to import: PyArrow, and DuckDB
    from iowhy.relations import Relations
    from iowhy.sources.diagnose import Diagnosis
    from iowhy.whys.facts.busy_processes import BusyProcess
    from iowhy.whys.next_step import Step
    from iowhy.whys.verdict import Verdict

EPILOG = """Examples:

  iowhy diagnose incident.txt

  iostat -x 1 10 | iowhy diagnose

  iowhy diagnose iostat.txt free.txt cachestat.txt

  iowhy diagnose --as truss --json summary.txt
"""

_MOST_CPUS = 65_536


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which texts are read, and what is known next to them."""

    files: tuple[str, ...] = word(
        "Text (or logs) of other tools; without one, or -, stdin is read.",
        default=(),
        metavar="FILE...",
    )
    as_format: str | None = option(
        "--as", metavar="NAME", help="The format, when it is not recognised."
    )
    cpus: int | None = option("--cpus", least=1, help="CPUs of the machine, if no text says.")
    pids: tuple[int, ...] = pids_given("Only these processes and what they fork.")
    host: str | None = option(
        "--host", metavar="NAME", help="The machine to judge, if the texts are of several."
    )
    output: Path | None = recording_kept()
    evidence: bool = switch("--evidence", help="All findings, tables, and what was read, too.")
    as_json: bool = switch("--json", help="Print the verdict as JSON.")
    list_: bool = switch("--list", "--formats", help="List the formats that can be read.")


def command(options: Options) -> None:
    """Say why it is slow from what other tools printed: iostat, vmstat, strace, curt, fio, …

    A file may hold several tools' output with prompts and prose between. What is not understood is
    listed with its line numbers.
    """
    if options.list_:
        _list(options.as_json)
        return
    options = replace(options, files=options.files or _standard_input())
    _check(options)
    from iowhy.commands.overview import overview
    from iowhy.relations import Relations
    from iowhy.views import diagnosis as view
    from iowhy.views import diagnosis_json, evidence_page
    from iowhy.views.terminal import console
    from iowhy.whys.facts.busy_processes import busiest

    out = options.output or live.name_for([_stem(options.files[0])], Path.cwd())
    check_new(out)
    # Large logs are taken apart by another program of ours, which is as bound as this one.
    end_after(len(options.files))
    box.enter([out], programs=True)
    found = _read(options, out)
    with working("judging"):
        judged = overview(found.recording, evidence=options.evidence)
    verdict = judged.verdict
    with found.recording.damage_named(), Relations(found.recording) as relations:
        processes = busiest(relations)
        steps = what_to_run_next(found, verdict, relations, processes, options.pids)
    if options.as_json:
        document = diagnosis_json.as_json(found, verdict, steps, processes)
        print(json_text(document))
        return
    screen = console()
    view.show(screen, judged, found, steps)
    if not options.evidence:
        return
    evidence_page.show(judged, screen, every=True)
    screen.print()
    view.show_parts(screen, found)
    view.show_processes(screen, processes)
    view.show_unread(screen, found)
    view.show_steps(screen, steps)


def what_to_run_next(
    found: "Diagnosis",
    verdict: "Verdict",
    relations: "Relations",
    processes: Sequence["BusyProcess"],
    pids: Sequence[int] = (),
) -> tuple["Step", ...]:
    """The commands that would show most of what the texts leave out."""
    from iowhy.whys.facts.pasted_file import named_file, only_writes
    from iowhy.whys.next_step import next_steps

    filled = {name for name, kept in found.recording.manifest.tables.items() if kept.kept}
    if only_writes(relations):
        filled.add("page_cache")
    return next_steps(
        verdict.findings[0].cause if verdict.findings else None,
        _largest(verdict),
        filled,
        {part.parsed.tool for part in found.parts},
        found.recording.manifest.host.os,
        found.missing,
        verdict.commands,
        pid=pids[0] if pids else processes[0].pid if len(processes) == 1 else None,
        file=named_file(relations),
    )


def _standard_input() -> tuple[str]:
    """What is read where no file is named; a person at a terminal learns that it is waited for."""
    if sys.stdin.isatty():
        say("paste the output here, then press Ctrl-D")
    return ("-",)


def _check(options: Options) -> None:
    if options.files.count("-") > 1:
        raise Problem("standard-input-twice")
    if options.cpus is not None and options.cpus > _MOST_CPUS:
        raise Problem("too-many-cpus", cpus=options.cpus, most_cpus=_MOST_CPUS)


def _list(as_json: bool) -> None:
    from iowhy.sources.formats import formats

    if as_json:
        listed = [{"name": form.name, "tool": form.tool} for form in formats()]
        print(json_text({"version": 1, "formats": listed}))
        return
    for form in formats():
        print(f"{form.name:<20} {form.tool}")


def _largest(verdict: "Verdict") -> str | None:
    """The class with most of the time, where the time is known."""
    if not verdict.budget.known:
        return None
    return max(verdict.budget.lines, key=lambda line: line.elapsed_share).cls


def _stem(file: str) -> str:
    return Path(file).stem if Path(file).is_file() else "paste"


def _read(options: Options, out: Path) -> "Diagnosis":
    from iowhy.sources.diagnose import diagnose

    line = ProgressLine()

    def progress(done: int, total: int) -> None:
        line.step(f"read {units.size(done)} of {units.size(total)}; Ctrl-C ends it")

    try:
        return diagnose(
            options.files,
            out,
            as_format=options.as_format,
            cpus=options.cpus,
            pids=options.pids,
            host=options.host,
            progress=progress,
        )
    finally:
        line.end()
