"""`iowhy agent`: always on; a full recording when something happens."""

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.options.described import option, word

if TYPE_CHECKING:
    from iowhy.agent.settings import Settings

ABOUT = "Count I/O all the time, and record fully when something happens."
#: Where the systemd unit has its file.
FILE = Path("/etc/iowhy/agent.toml")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What the agent is asked."""

    settings: Path | None = option(
        "-c",
        "--config",
        help=f"Its file: what is watched and kept; by default {FILE}, if there is one.",
        metavar="FILE",
    )
    black_box: str | None = option(
        "--black-box",
        help="Record fully all the time, in memory, so that a trigger has this time before it.",
        metavar="TIME",
    )


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """Which agent is meant."""

    directory: Path | None = word(
        f"Folder of its recordings; by default what {FILE} says, else /var/lib/iowhy.",
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class Check:
    """Which file is read."""

    settings: Path | None = option(
        "-c", "--config", help=f"The file; by default {FILE}, if there is one.", metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class Alive:
    """Which agent is meant."""

    settings: Path | None = option(
        "-c", "--config", help=f"Its file; by default {FILE}, if there is one.", metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class Show:
    """What is shown."""

    what: str | None = word(
        "`unit` (systemd), `config` (a file to begin with), `alerts` (Prometheus) or `board` (Grafana).",
        default=None,
        metavar="WHAT",
    )


def run(options: Run) -> None:
    """Count, watch and keep, until a signal ends it."""
    from iowhy.agent.service import say
    from iowhy.agent.starting import prepared

    read = partial(_read, options)
    asked = read()
    with prepared(asked, read) as service:
        if asked.metrics is not None:
            say(f"metrics on http://{asked.metrics[0]}:{asked.metrics[1]}/metrics")
        say(f"recordings in {asked.directory}; triggers: {', '.join(asked.triggers) or 'none'}")
        service.run()


def _read(options: Run) -> "Settings":
    """Its file, and what the command line says."""
    from iowhy.agent import settings

    found = _settings(options.settings)
    if options.black_box is None:
        return found
    try:
        return replace(found, black_box_ns=settings.duration(options.black_box))
    except ValueError as error:
        raise Problem("black-box-option", error=error) from None


def _settings(file: Path | None) -> "Settings":
    """What a file says; without one, the unit's, and the defaults if that is not there either."""
    from iowhy.agent import settings

    if file is None and not os.path.lexists(FILE):
        return settings.Settings()
    return settings.read(file or FILE)


def trigger(options: Trigger) -> None:
    """Have the running agent record fully now (as SIGUSR1 does)."""
    from iowhy.agent import service

    directory = options.directory or _settings(None).directory
    os.kill(service.running(directory), signal.SIGUSR1)
    print(f"{directory}: asked for a recording; the agent's log says what becomes of it")


def check(options: Check) -> None:
    """Try all that `agent run` needs, and say what its file asks for."""
    from iowhy.agent import starting

    found = _settings(options.settings)
    at_work = starting.check(found)
    there = options.settings or (FILE if os.path.lexists(FILE) else None)
    print(f"{there or f'no {FILE}, so the defaults'}: recordings in {found.directory}")
    for name, condition in found.triggers.items():
        print(f"  {name}: {condition.said}")
    if at_work is not None:
        print(f"an agent works there now (process {at_work}); `systemctl reload iowhy-agent`")


def alive(options: Alive) -> None:
    """Say whether the agent counts (for probes of containers): status 0 if it does."""
    from iowhy.agent import service

    found = _settings(options.settings)
    quiet_s = service.stopped(found)
    if quiet_s is not None:
        raise Problem("agent-counts-no-more", path=found.directory, seconds=quiet_s)
    print(f"{found.directory}: the agent counts")


def show(options: Show) -> None:
    """Print a file for the agent: its systemd unit, alert rules, a board."""
    from iowhy.agent import shipped

    if options.what is None:
        raise Problem("agent-show-of-what", files=", ".join(shipped.FILES))
    print(shipped.text(options.what), end="")


COMMANDS: Mapping[str, tuple[type, Callable[[Any], None]]] = {
    "run": (Run, run),
    "trigger": (Trigger, trigger),
    "check": (Check, check),
    "alive": (Alive, alive),
    "show": (Show, show),
}
