"""How a remedy is typed in the language of the program, as data: `iowhy/whys/languages/NAME.toml`, one file for each language.

A file says by what the language is known and how each thing that remedies ask authors for is done in it:

    name = "Python"
    executables = ["python3"]           # of its interpreter, which makes the calls
    interpreter = "Python"              # as iowhy.relations.interpreters calls it, whose code is in the stacks
    libraries = "libnio\\\\.so"         # of its standard library, which call for its programs
    functions = "runtime\\\\.goexit"       # functions that only its programs have
    sources = [".py"]                   # ends of names of the files that its functions are in

    [ways.sync-once]                    # one of ways.toml
    way = "`os.fsync(f.fileno())` after the loop"
    before = "…"                        # one line
    after = "…"                         # two lines at most
    link = "https://…"
"""

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct, toml
from msgspec.structs import replace

from iowhy import sentences
from iowhy.package_files import files_by_name
from iowhy.relations.interpreters import interpreter
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.facts.programs import executables
from iowhy.whys.finding import CodeFrame, Link
from iowhy.whys.in_whose_code import callers
from iowhy.whys.remedy import Remedy

#: Of the time of the calls in question, one process's from which it is what makes them.
MOST = 0.5


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What remedies ask authors for: their ids, the causes that it helps, and what the order must say."""

    remedies: tuple[str, ...]
    causes: tuple[str, ...]
    about: str = ""


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """How one thing is done in a language, and a line of code without it and with it."""

    way: str
    before: str
    after: str
    link: str


class Language(Struct, frozen=True, forbid_unknown_fields=True):
    """A language, by what it is known, and its ways."""

    name: str
    ways: dict[str, Way]
    executables: tuple[str, ...] = ()
    interpreter: str = ""
    libraries: str = ""
    functions: str = ""
    sources: tuple[str, ...] = ()


@cache
def ways() -> dict[str, Asked]:
    """All that is asked for, by its name."""
    text = files_by_name("iowhy.whys", ".toml")["ways"].read_text("utf-8")
    return toml.decode(text, type=dict[str, Asked])


@cache
def languages() -> tuple[Language, ...]:
    """All of them, by the names of their files."""
    files = files_by_name("iowhy.whys", ".toml", "languages").values()
    return tuple(toml.decode(file.read_text("utf-8"), type=Language) for file in files)


def in_its_language(
    facts: Facts, code: Iterable[Link], advice: tuple[Remedy, ...]
) -> tuple[Remedy, ...]:
    """Remedies with how they are typed in the program's language; not where a known program has a setting instead."""
    if any(one.program for one in advice) or not any(_way(one) for one in advice):
        return advice
    frames = [frame for link in code for frame in link.frames]
    found = of_stack(frames) if frames else _of_executable(facts)
    return advice if found is None else tuple(_typed(one, found) for one in advice)


def of_stack(frames: Iterable[CodeFrame]) -> Language | None:
    """Whose code calls, innermost first: its interpreter's, else the outermost function's with a sign of its language.

    None if none has one, and for calls that a library makes which the program only uses.
    """
    path = callers(tuple(frames))
    found = _of_host(path) or next(filter(None, map(_of_frame, reversed(path))), None)
    calls = path[0].module or "" if path else ""
    others = ".so" in calls and interpreter(calls) is None
    if found is None or (others and not (found.libraries and re.fullmatch(found.libraries, calls))):
        return None
    return found


def _of_host(path: tuple[CodeFrame, ...]) -> Language | None:
    host = next((found for frame in path if (found := interpreter(frame.module))), None)
    return next((one for one in languages() if host and one.interpreter == host.language), None)


def _of_frame(frame: CodeFrame) -> Language | None:
    for one in languages():
        known = one.functions and re.fullmatch(one.functions, frame.function or "")
        if known or (one.sources and (frame.file or "").endswith(one.sources)):
            return one
    return None


def _of_executable(facts: Facts) -> Language | None:
    """The language whose interpreter makes most of the calls that move or sync data; None if none does."""
    names = [name for one in languages() for name in one.executables]
    found = executables(facts.relations, names)
    if not found or not facts.relations.has("syscalls"):
        return None
    moving = classes.DATA_READS | classes.DATA_WRITES | classes.SYNC_CALLS
    calls = facts.relations.rows(
        f"""
        WITH sums AS (
          SELECT t.tgid, sum(c.total_ns) AS ns, max(t.comm) FILTER (WHERE t.tid = t.tgid) AS comm
          FROM call_sums AS c JOIN threads AS t ON t.tid = c.tid
          WHERE c.name IN {classes.quoted(moving)} GROUP BY t.tgid
        )
        SELECT tgid, comm FROM sums WHERE ns >= {MOST} * (SELECT sum(ns) FROM sums) LIMIT 1
        """
    )
    for tgid, comm in calls:
        for one in languages():
            if any(
                _is(name, comm or "") and tgid in found.get(name, ()) for name in one.executables
            ):
                return one
    return None


def _is(name: str, comm: str) -> bool:
    """Whether a process is an interpreter's; a version may follow its name."""
    return re.fullmatch(re.escape(name) + r"[\d.]*", comm) is not None


def _way(one: Remedy) -> str | None:
    asked = getattr(one.do, "id", "")
    return next((w for w, a in ways().items() if asked in a.remedies and a.about in one.do), None)


def _typed(one: Remedy, language: Language) -> Remedy:
    asked = _way(one)
    way = None if asked is None else language.ways.get(asked)
    if way is None:
        return one
    said = sentences.named(
        one.do.id, f"{one.do} ({language.name}: {way.way})", **one.do.values, language=language.name
    )
    return replace(one, do=said, link=one.link or way.link)


def code_for(cause: str) -> str:
    """The lines of each language that help against a cause, before and after, as Markdown; "" for none."""
    blocks = [
        f"[{one.name}]({found.link})\n\n{_indented('before', found.before)}{_indented('after', found.after)}"
        for way, asked in ways().items()
        if cause in asked.causes
        for one in languages()
        if (found := one.ways.get(way)) is not None
    ]
    return "## In code, before → after\n\n" + "\n".join(blocks) if blocks else ""


def _indented(label: str, code: str) -> str:
    return "".join(
        f"    {label if at == 0 else '':<7}{line}\n"
        for at, line in enumerate(code.strip().splitlines())
    )
