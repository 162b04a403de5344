"""Who the sentences of a verdict are about: the program, the server, the container, the machine."""

import re
import shlex
from pathlib import PurePath

from iowhy.recordings.manifest import Command
from iowhy.relations import Relations

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "busybox"})
#: A version may stand behind the name.
INTERPRETERS = re.compile(
    rf"(python|perl|ruby|node|php|lua|R(script)?|java|{'|'.join(SHELLS)})[\d.]*"
)
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
#: Behind these java is given the files of its program.
_CODE = frozenset({"-jar", "-cp", "-classpath", "--class-path"})
#: What makes a shell's text more than one command.
_OPERATORS = frozenset(";|&()<>$`\n")
#: Of the time, at work: with less, the program that works is not what the time is spent in.
_WORKS = 0.1
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
    if name in SHELLS and len(argv) > 2 and argv[1].startswith("-") and argv[1].endswith("c"):
        return _first_word(argv[2])
    if INTERPRETERS.fullmatch(name) and len(argv) > 1 and not argv[1].startswith("-"):
        return f"{name} {PurePath(argv[1]).name}"
    return name or None


def single_program(argv: tuple[str, ...]) -> str | None:
    """What was typed to start one program, or the script of an interpreter; None of a script of several commands, and of what
    only starts others."""
    name = PurePath(argv[0]).name if argv else ""
    if not name or name in _WRAPPERS:
        return None
    if name in SHELLS and len(argv) > 2 and argv[1].startswith("-") and argv[1].endswith("c"):
        return _first_word(argv[2])
    if INTERPRETERS.fullmatch(name):
        at = next((at for at, word in enumerate(argv[:-1], 1) if word in _CODE), 1)
        return argv[at].partition(":")[0] if len(argv) > at and argv[at].startswith("/") else None
    return argv[0]


def _first_word(text: str) -> str | None:
    """Of a shell's text that is one command, its program."""
    if _OPERATORS.intersection(text.strip()):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    words = words[1:] if words[:1] == ["exec"] else words
    return PurePath(words[0]).name if words and "=" not in words[0] else None


def _busiest(relations: Relations) -> str | None:
    """The program that is at work (on a CPU, ready, or blocked) for half of all such time; shells do not count.

    None of several if hardly any is: what sleeps is not what works.
    """
    elapsed_ns = relations.facts.elapsed_ns
    if not relations.has("thread_time") or not elapsed_ns:
        return None
    found = [
        (name, active_ns)
        for name, active_ns in relations.rows(
            """SELECT CASE WHEN count(DISTINCT g.comm) > 1 THEN max(g.program) ELSE max(g.comm) END AS name, sum(coalesce(t.cpu_ns, 0) + coalesce(t.runnable_ns, 0)
              + coalesce(t.blocked_ns, 0)) AS active_ns
            FROM thread_totals AS t JOIN process_groups AS g ON g.tgid = t.tgid
            WHERE g.comm IS NOT NULL GROUP BY g.program ORDER BY active_ns DESC, name"""
        )
        if name not in SHELLS | _WRAPPERS
    ]
    whole = sum(active_ns for _, active_ns in found)
    works = len(found) == 1 or (found and whole >= _WORKS * elapsed_ns and found[0][1] * 2 >= whole)
    return found[0][0] if works else None


def _attached(relations: Relations) -> str:
    """The processes that no other one of the recording started."""
    if not relations.has("threads"):
        return "the attached process"
    found = relations.rows(
        """SELECT tgid, arg_min(comm, abs(tid - tgid)) AS comm,
          -- A server is called by its program, not by the title of the process that started the others.
          CASE WHEN (SELECT count(DISTINCT tgid) FROM threads) = 1 THEN max(title) END AS title
        FROM threads
        WHERE ppid IS NULL OR ppid NOT IN (SELECT tgid FROM threads) GROUP BY tgid ORDER BY tgid"""
    )
    names = {title or comm for _, comm, title in found}
    if len(names) != 1 or None in names:
        return "the attached process" if len(found) < 2 else f"{len(found)} attached processes"
    (name,) = names
    return f"{name} ({found[0][0]})" if len(found) == 1 else f"{name} ({len(found)} processes)"
