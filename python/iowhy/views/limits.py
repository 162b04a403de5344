"""How a recorded command ended, what was lost, and what is not known: under a verdict, on any page."""

import signal

from iowhy.commands.overview import Overview
from iowhy.recordings import Recording


def went_wrong(overview: Overview) -> tuple[str, ...]:
    """How the command ended, where it did not end well, and which of its calls failed."""
    ended = ending(overview.recording)
    return (*([] if ended is None else [ended]), *overview.verdict.failures)


def ending(recording: Recording) -> str | None:
    """How the command ended, where it did not end well; None when it did or nobody knows."""
    command = recording.manifest.command
    if command.signal is not None:
        return f"The command was ended by {_signal(command.signal)}."
    status = command.exit_status
    if not status:
        return None
    text = f"The command ended with exit status {status}"
    if status in _STATUSES:
        return f"{text} ({_STATUSES[status]})."
    if status > 128 and _signal(status - 128) != f"signal {status - 128}":
        return f"{text} (something in it was ended by {_signal(status - 128)})."
    return f"{text}."


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
    lost = [
        f"{kept.lost:,} events of {name} were lost, {kept.kept:,} kept"
        for name, kept in manifest.tables.items()
        if kept.lost
    ]
    if overview.recording.cut_off:
        lost.append("the recording was cut off: its end is missing")
    every = (("Lost", lost), ("Unknown", found.unknowns), ("Notes", found.notes))
    return [(title, list(dict.fromkeys(lines))) for title, lines in every if lines]
