"""`iowhy fleet`: questions to many recordings at once."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.cli._rows import check_destination, write, write_list
from iowhy.cli._statuses import NO
from iowhy.commands.report import filters as filters_of_part
from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.options.described import group, option, switch, word
from iowhy.options.output import KEEP_SECRETS, TableOutput
from iowhy.options.report import Part

if TYPE_CHECKING:  # slow to import
    from iowhy.fleet.members import LeftOut

ABOUT = "Ask many recordings at once: every report, and what only a fleet can show."

#: Lines about recordings that were left out; `iowhy check` tells of each.
MOST_LINES = 100
#: Reports by what each recording's verdict says, which does not know the others' disks; so many of these are named.
OF_VERDICTS = ("causes", "verdicts", "worst")
FAR_DISKS = 3


@dataclass(frozen=True, kw_only=True)
class Report:
    """Which report of which recordings, and how it is written."""

    name: str | None = word("A report; without it, the list of reports.", metavar="NAME")
    where: tuple[str, ...] = word(
        "Recordings, packed ones, folders of them, patterns.", default=(), metavar="WHERE..."
    )
    list_: bool = switch("--list", help="List the reports, each with the question it answers.")
    at: str | None = option(
        "--at",
        metavar="TIME",
        help="trend: the rollout; by default halfway through the recordings.",
    )
    spark: str | None = option(
        "--spark",
        metavar="URL",
        help="Ask Spark: local[4], spark://…, or a Spark Connect server sc://HOST:15002.",
    )
    part: Part = group(Part)
    table: TableOutput = group(TableOutput)


def report(options: Report) -> None:
    """One report over many recordings, with host, recording and started in front."""
    from iowhy.fleet.asking import Question, described, fleet_result
    from iowhy.fleet.members import LeftOut

    if options.list_ or options.name is None:
        _list(options.table)
        return
    found = described(options.name)
    if not options.where:
        raise Problem("fleet-report-of-what", name=options.name)
    check_destination(options.table)
    part = options.part
    filters = filters_of_part(part)
    paths = _places(options.where, options.table.output, spark=options.spark is not None)
    left_out = LeftOut()
    asked = fleet_result(
        Question(options.name, filters, options.at), paths, left_out, options.spark
    )
    try:
        write(asked, options.table, f"{options.name} of {len(paths):,} recordings", found)
    finally:
        _say_left_out(left_out)
    if options.name in OF_VERDICTS and options.spark is None:
        _say_far_disks(paths)


def _say_far_disks(paths: "Sequence[Path]") -> None:
    from iowhy.fleet.far_disks import slower_than_peers

    slower = slower_than_peers(paths)
    for one in slower[:FAR_DISKS]:
        say(one)
    if slower:
        say("see `iowhy fleet report outliers`")


def _say_left_out(left_out: "LeftOut") -> None:
    from iowhy.recordings.object_store import written

    for path, why in list(left_out.reasons.items())[:MOST_LINES]:
        name = written(path)
        say(why if name in why else f"{name}: {why}")
    more = len(left_out.reasons) - MOST_LINES
    if more > 0:
        say(f"and {more:,} more recordings were left out")
    if left_out.not_whole:
        first = written(min(left_out.not_whole))
        others = len(left_out.not_whole) - 1
        rest = f" and {others:,} others" if others else ""
        say(
            f"{first}{rest}: not whole, the files are not those that the manifest counts; `iowhy fleet check` says what is wrong"
        )
    if left_out.counts:
        say(
            f"{left_out.counts:,} recordings of the agent's counts are not judged here; outliers and trend read them"
        )


def _list(to: TableOutput) -> None:
    from iowhy.fleet.fleet_reports import fleet_reports
    from iowhy.reports.report import reports

    known = {name: one.report for name, one in fleet_reports().items()} | reports()
    write_list(
        [
            {
                "name": name,
                "question": one.question,
                "of": "fleet" if name in fleet_reports() else "recording",
            }
            for name, one in known.items()
        ],
        to,
    )


@dataclass(frozen=True, kw_only=True)
class Check:
    """Which recordings are checked, and how it is written."""

    where: tuple[str, ...] = word(
        "Recordings, packed ones, folders of them, patterns.", default=(), metavar="WHERE..."
    )
    every: bool = switch("--all", help="List the recordings that are whole too.")
    again: bool = switch("--again", help="Read also those that were checked before.")
    table: TableOutput = group(TableOutput)


def check(options: Check) -> None:
    """Find recordings that are damaged, there twice or of another format; exit status 1 when there are any."""
    from collections import Counter

    from msgspec.structs import asdict

    from iowhy.fleet.wholeness import BAD, WHOLE, health
    from iowhy.views.progress import working

    if not options.where:
        raise Problem("fleet-check-of-what")
    check_destination(options.table)
    paths = _places(options.where, options.table.output)
    counted: Counter[str] = Counter()
    listed = []
    with working(f"checking {len(paths):,} recordings"):
        for one in health(paths, options.again):
            counted[one.state] += 1
            if options.every or one.state != WHOLE:
                listed.append(asdict(one))
    if listed:
        write_list(listed, options.table)
    say(", ".join(f"{number:,} {state}" for state, number in sorted(counted.items())))
    if any(counted[state] for state in BAD):
        raise SystemExit(NO)


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Which recordings are put together, and where."""

    where: tuple[str, ...] = word(
        "Recordings, packed ones, folders of them, patterns.", default=(), metavar="WHERE..."
    )
    to: Path | None = option("-o", "--output", help="The folder of the packs.")
    judge: bool = switch(
        "--judge", help="Judge what has no verdict yet, so that reports of packs need not."
    )
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)


def pack(options: Pack) -> None:
    """Put small recordings together, day by day and host by host; what is packed already is not packed again."""
    from iowhy.fleet.members import LeftOut
    from iowhy.fleet.packing import pack_fleet
    from iowhy.views.progress import working

    if not options.where or options.to is None:
        raise Problem("fleet-pack-of-what")
    paths = _places(options.where, options.to)
    left_out = LeftOut()
    new = packs = 0
    try:
        with working(f"packing {len(paths):,} recordings"):
            for one in pack_fleet(paths, options.to, left_out, options.judge, options.keep_secrets):
                packs += one.new > 0
                new += one.new
    finally:
        _say_left_out(left_out)
    say(f"{new:,} new recordings in {packs:,} packs below {options.to}")


def _places(where: Sequence[str], written: Path | None, *, spark: bool = False) -> list[Path]:
    """The recordings there, for a process in the box, unless it asks Spark. Who judges is another process of ours, which is as
    bound as this one; verdicts are kept in the user's cache.
    """
    from iowhy.cli._ending import end_after
    from iowhy.fleet.places import places

    if not spark:
        _enter(where, written)
    found = places(where)
    end_after(len(found))
    return found


def _enter(where: Sequence[str], written: Path | None) -> None:
    from iowhy.cli._boxed import enter
    from iowhy.fleet.cache_folder import cache_folder

    cache = cache_folder()
    if cache is not None:
        with suppress(OSError):
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    enter(where, [cache, written], programs=True, bounded=False)


COMMANDS = {"report": (Report, report), "check": (Check, check), "pack": (Pack, pack)}
