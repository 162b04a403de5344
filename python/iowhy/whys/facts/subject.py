"""Who the sentences of a verdict are about: the program, the server, the container, the machine."""

import re
import shlex
from pathlib import PurePath

from iowhy.recordings.manifest import Command
from iowhy.relations import Relations
from iowhy.whys.facts.threads import busiest

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "busybox"})
#: A version may stand behind the name.
_INTERPRETERS = re.compile(rf"(python|perl|ruby|node|php|lua|Rscript|{'|'.join(_SHELLS)})[\d.]*")
#: Programs that only start another one.
_WRAPPERS = frozenset(
    {
        "env",
        "nice",
        "ionice",
        "taskset",
        "chrt",
        "setpriv",
        "sudo",
        "timeout",
        "stdbuf",
        "setsid",
        "numactl",
        "unshare",
    }
)
#: What makes a shell's text more than one command.
_OPERATORS = frozenset(";|&()<>$`\n")
_GROUPS = {"--container": "container", "--pod": "pod", "--cgroup": "control group"}


def subject(command: Command, relations: Relations) -> str:
    """In the singular, and as people call it: `sqlite3`, `python3 load.py`, `postgres (4711)`, `container web`, `the machine`."""
    if command.groups:
        option, name = command.groups[:2]
        return f"{_GROUPS.get(option, 'control group')} {name}"
    if command.mode == "attach":
        return _attached(relations)
    if command.mode == "run" and command.argv:
        return _typed(command.argv) or _busiest(relations) or "the command"
    return {"block": "the block", "machine": "the machine"}.get(command.mode, "the command")


def _typed(argv: tuple[str, ...]) -> str | None:
    """What was typed, if that is one program."""
    name = PurePath(argv[0]).name
    if name in _WRAPPERS:
        return None
    if name in _SHELLS and len(argv) > 2 and argv[1].startswith("-") and argv[1].endswith("c"):
        return _first_word(argv[2])
    if _INTERPRETERS.fullmatch(name) and len(argv) > 1 and not argv[1].startswith("-"):
        return f"{name} {PurePath(argv[1]).name}"
    return name or None


def single_program(argv: tuple[str, ...]) -> str | None:
    """What was typed to start one program, or the script of an interpreter; None of a script of several commands, and of what
    only starts others."""
    name = PurePath(argv[0]).name if argv else ""
    if not name or name in _WRAPPERS:
        return None
    if name in _SHELLS and len(argv) > 2 and argv[1].startswith("-") and argv[1].endswith("c"):
        return _first_word(argv[2])
    if _INTERPRETERS.fullmatch(name):
        return argv[1] if len(argv) > 1 and argv[1].startswith("/") else None
    return argv[0]


def _first_word(text: str) -> str | None:
    """Of a shell's text that is one command, its program."""
    if _OPERATORS.intersection(text.strip()):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return PurePath(words[0]).name if words and "=" not in words[0] else None


def _busiest(relations: Relations) -> str | None:
    """The program that uses most of the CPU time, if it uses half of it; shells do not count."""
    found = [one for one in busiest(relations) if one.name not in _SHELLS | _WRAPPERS]
    whole = sum(one.cores for one in found)
    return found[0].name if found and found[0].cores * 2 >= whole > 0 else None


def _attached(relations: Relations) -> str:
    """The processes that no other one of the recording started."""
    if not relations.has("threads"):
        return "the attached process"
    found = relations.rows(
        """SELECT tgid, coalesce(max(title), arg_min(comm, abs(tid - tgid))) AS comm FROM threads
        WHERE ppid IS NULL OR ppid NOT IN (SELECT tgid FROM threads) GROUP BY tgid ORDER BY tgid"""
    )
    names = {comm for _, comm in found}
    if len(names) != 1 or None in names:
        return "the attached process" if len(found) < 2 else f"{len(found)} attached processes"
    (name,) = names
    return f"{name} ({found[0][0]})" if len(found) == 1 else f"{name} ({len(found)} processes)"
