"""The one command that would show most of what the texts leave out."""

from collections.abc import Collection, Sequence

from iowhy.data_class import dataclass
from iowhy.whys.cause import causes
from iowhy.whys.next_command import BY_CLASS, GENERAL, NextCommand
from iowhy.whys.typed import Commands

#: What iowhy itself cannot be run on.
FOREIGN = {"AIX", "FreeBSD"}


@dataclass(frozen=True)
class Step:
    """A command and what it would show."""

    command: str
    tells: str


def next_steps(
    cause: str | None,
    largest: str | None,
    filled: Collection[str],
    tools: Collection[str],
    system: str | None,
    missing: Sequence[str],
    made: Commands,
    pid: int | None = None,
) -> tuple[Step, ...]:
    """One command of a usual tool and, where iowhy runs, iowhy itself.

    `cause` is that of the first finding, `largest` the largest class of the time, `filled` the tables that
    have rows, `tools` those whose output was read, `system` the manifest's `os`; `missing` are commands that
    the formats named for what their output lacked. `made` is what can be typed of the recording, `pid` the
    process that is looked at, where the texts name one.
    """
    settling = next((one.settled_by for one in causes() if one.name == cause), ())
    own = settling or BY_CLASS.get(largest or "", ())
    here = system if system in FOREIGN else "Linux"
    run_already = {word for tool in tools for word in tool.split()[:1]}

    def new(one: NextCommand) -> bool:
        words = one.command.removeprefix("sudo ").split()
        return one.system == here and one.fills not in filled and words[0] not in run_already

    first = next((one for one in (*own, *GENERAL) if new(one)), None)
    early = first is not None and bool(first.after) and not first.after & set(filled)
    step = None if first is None else Step(_of_process(first.command, pid), first.shows)
    if missing and (first is None or not own or early):
        step = Step(made.filled(missing[0]), "what its output above leaves out")
    steps = [] if step is None else [step]
    if system not in FOREIGN:
        whole = made.record_again()
        if all(one.command != whole for one in steps):
            steps.append(Step(whole, "the whole chain, from the call to the request"))
    return tuple(steps)


def _of_process(command: str, pid: int | None) -> str:
    return command if pid is None else command.replace("-p PID", f"-p {pid}")
