"""How a recorded command ended, what was lost, and what is not known: under a verdict, on any page."""

import signal

from iowhy.commands.overview import Overview
from iowhy.recordings import Recording
from iowhy.sentences import worded
from iowhy.whys.causes import cause_named


def went_wrong(overview: Overview) -> tuple[str, ...]:
    """How the command ended, where it did not end well, and which of its calls failed.

    Errors are left out that the first finding explains.
    """
    ended, found = ending(overview.recording), overview.verdict
    first = cause_named(found.findings[0].cause) if found.findings else None
    said = () if first is None else first.explains_errors
    failed = [one for one in found.failures if one.values["error"] not in said]
    return (*([] if ended is None else [ended]), *failed)


def ending(recording: Recording) -> str | None:
    """How the command ended, where it did not end well; None when it did or nobody knows."""
    command = recording.manifest.command
    if command.signal is not None:
        said = "The command was ended by {signal}."
        return worded("ended-by-signal", said, signal=_signal(command.signal))
    status = command.exit_status
    if not status:
        return None
    why = _STATUSES.get(status)
    if status > 128 and _signal(status - 128) != f"signal {status - 128}":
        why = f"something in it was ended by {_signal(status - 128)}"
    return worded(
        "ended-with-status",
        "The command ended with exit status {status}" + (" ({why})." if why else "."),
        status=status,
        why=why,
    )


def _signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name}, signal {number}"
    except ValueError:
        return f"signal {number}"


# As shells use them (POSIX, 2.8.2).
_STATUSES = {
    126: "something in it could not be run",
    127: "something in it was not found",
}


def limits(overview: Overview) -> list[tuple[str, list[str]]]:
    """What was lost, what is unknown and what else to know, each under its title; only what there is."""
    found, manifest = overview.verdict, overview.recording.manifest
    lost: list[str] = [
        worded(
            "lost-of-table",
            "{lost:count} events of {table} were lost, {kept:count} kept",
            lost=kept.lost,
            table=name,
            kept=kept.kept,
        )
        for name, kept in manifest.tables.items()
        if kept.lost
    ]
    if overview.recording.cut_off:
        lost.append(worded("end-missing", "the recording was cut off: its end is missing"))
    every = (("Lost", lost), ("Unknown", found.unknowns), ("Notes", found.notes))
    return [(title, list(dict.fromkeys(lines))) for title, lines in every if lines]
