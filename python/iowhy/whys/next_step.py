"""The one command that would show most of what the texts do not."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from iowhy.invocation import by_root, quoted
from iowhy.whys.causes import cause_named
from iowhy.whys.next_command import BY_CLASS, GENERAL, JOB, NextCommand, asks_for
from iowhy.whys.typed import Commands

#: What iowhy itself cannot be run on.
FOREIGN = {"AIX", "FreeBSD"}


class Step(Struct, frozen=True):
    """A command and what it would show."""

    command: str
    shows: str


def next_steps(
    cause: str | None,
    largest: str | None,
    filled: Collection[str],
    tools: Collection[str],
    system: str | None,
    missing: Sequence[str],
    made: Commands,
    *,
    pid: int | None = None,
    file: str | None = None,
) -> tuple[Step, ...]:
    """One command of a usual tool and, on systems that iowhy runs on, iowhy itself.

    `cause` is that of the first finding, `largest` the largest class of the time, `filled` the tables that
    have rows, `tools` those whose output was read, `system` the manifest's `os`; `missing` are commands that
    the formats named for what their output lacked. `made` is what can be typed about the recording, `pid` the
    process in question and `file` the most important file, if the texts name one.
    """
    looked_for = cause_named(cause)
    own = (() if looked_for is None else looked_for.settled_by) or BY_CLASS.get(largest or "", ())
    here = system if system in FOREIGN else "Linux"
    # Of a job that has ended, somewhere else, only its next log shows more.
    of_job = set(tools) == {"darshan"}
    if of_job:
        own = JOB
    run_already = {word for tool in tools for word in tool.split()[:1]}

    known = {
        **({} if pid is None else {"pid": str(pid)}),
        **({} if file is None else {"file": quoted(file)}),
    }

    def new(one: NextCommand) -> bool:
        words = one.command.removeprefix("sudo ").split()
        return (
            one.system == here
            and one.fills not in filled
            and words[0] not in run_already
            and asks_for(one.command) <= known.keys()
        )

    first = next((one for one in (own if of_job else (*own, *GENERAL)) if new(one)), None)
    early = first is not None and bool(first.after) and not first.after & set(filled)
    step = None if first is None else Step(_typed(first.command.format(**known)), first.shows)
    lacking = next((text for text in missing if asks_for(text) <= known.keys()), None)
    if lacking is not None and (first is None or not own or early):
        text = made.filled(lacking.format(**known))
        step = Step(_typed(text), "what the output above does not show")
    steps = [] if step is None else [step]
    if system not in FOREIGN and not of_job:
        whole = made.record_again()
        if all(one.command != whole for one in steps):
            steps.append(Step(whole, "everything from the call to the request"))
    return tuple(steps)


def _typed(command: str) -> str:
    """With `sudo` only if it is needed and installed."""
    other = command.removeprefix("sudo ")
    if other == command or "iowhy" in other.split():
        return command
    return by_root(other)
