"""Copies of /proc/pressure/{cpu,io,memory} and of a control group's *.pressure (Documentation/accounting/psi.rst): totals in µs.

The file's name is not in its text: it is taken from the command at the prompt, from the "==> … <==" of head and tail, from the
"name:" of grep, from a title above; else from all of them together: cpu has no line "full" before Linux 5.13 and only zeros in
it since, irq has no "some", and `cat /proc/pressure/*` prints cpu, io, irq, memory. One file alone can be any.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.formats._cgroup import group_of
from iowhy.sources.numbers import number

NAME = "proc-pressure"
TOOL = "cat /proc/pressure"
HINT = r"\b(?:some|full) avg10=[\d.]+ |^==> \S*(?:/proc/pressure/|\.pressure)"

US = 1_000
_ROW = re.compile(
    r"(?:(?P<path>\S*?):(?:\d+:)?\s?)?(?P<kind>some|full) avg10=(?P<ten>[\d.]{1,9}) avg60=(?P<sixty>[\d.]{1,9}) "
    r"avg300=(?P<long>[\d.]{1,9}) total=(?P<total>\d{1,18})"
)
#: In a log, more than one in a line, and the total may be missing.
_LOGGED = re.compile(
    r"(?P<kind>some|full) avg10=(?P<ten>[\d.]{1,9}) avg60=(?P<sixty>[\d.]{1,9}) avg300=(?P<long>[\d.]{1,9})(?: total=\d{1,18})?"
)
_WORD = re.compile(r"(?<![a-z])(cpu|io|memory|mem|irq)(?![a-z])", re.IGNORECASE)
_RESOURCE = re.compile(r"/proc/pressure/(cpu|io|memory|irq)\b|\b(cpu|io|memory|irq)\.pressure\b")
_TITLE = re.compile(r"\W*(cpu|io|memory|mem|irq)\b(?:[. ]?pressure)?\W*", re.IGNORECASE)
_BRACES = re.compile(r"/proc/pressure/\{([a-z,]+)\}")


class _File(Struct):
    """One copy of one file: its lines "some" and "full", and whose it is."""

    resource: str | None
    scope: str = "machine"
    rows: dict[str, re.Match[str]] = field(default_factory=dict)
    lines: list[tuple[int, str]] = field(default_factory=list)


FIRST = (rf"(?!==>).*(?:{_LOGGED.pattern})|==>.*\n(?:some|full) avg10=", 2)


def read(block: Block) -> Parsed:
    """Into pressure_samples, and the averages into measurements."""
    parsed = Parsed(TOOL, units="µs; averages in %")
    files = _files(block, parsed)
    _name(files, block, parsed)
    copies: dict[tuple[str, str, str], int] = {}
    latest: dict[tuple[str, str], _File] = {}
    for one in files:
        if one.resource is None:
            parsed.note("whose pressure it is (cpu, io, memory) is not shown: left out")
            parsed.missing.append("grep . /proc/pressure/*")
            parsed.lines_understood -= len(one.lines)
            for at, line in one.lines:
                parsed.reject(at, line)
            continue
        if one.resource == "irq":
            continue
        latest[one.scope, one.resource] = one
        for kind, match in one.rows.items():
            if match.re is _LOGGED:  # how long it is since the line before is not known
                continue
            key = (one.scope, one.resource, kind)
            copies[key] = copies.get(key, -1) + 1
            parsed.snapshots.append(
                Snapshot(
                    "pressure_samples",
                    {"scope": one.scope, "resource": one.resource, "kind": kind},
                    copies[key],
                    {"total_ns": int(match["total"]) * US},
                )
            )
    for one in latest.values():
        _averages(parsed, one)
    return parsed


def _files(block: Block, parsed: Parsed) -> list[_File]:
    """The copies, in their order, each with the name that is with it."""
    found: list[_File] = []
    title: tuple[str | None, str] = (None, "machine")
    fresh = True
    for at, line in parsed.lines(block):
        text = line.strip()
        match = _ROW.fullmatch(text)
        if match is None:
            named = _named(text) if text.startswith("==>") else None
            titled = _TITLE.fullmatch(text)
            if named is not None:
                title, fresh = named, True
            elif titled is not None:
                title, fresh = (_resource(titled[1]), "machine"), True
            elif logged := list(_LOGGED.finditer(text)):
                found += _logged(logged, text, at, line, title)
            else:
                parsed.reject(at, line)
            continue
        if match["path"] and (named := _named(match["path"])) is not None:
            fresh = fresh or named != title
            title = named
        if fresh or not found or match["kind"] == "some" or match["kind"] in found[-1].rows:
            found.append(_File(*title))
        fresh = False
        found[-1].rows[match["kind"]] = match
        found[-1].lines.append((at, line))
    return found


def _resource(word: str) -> str:
    return "memory" if word.lower() == "mem" else word.lower()


def _logged(
    rows: Sequence[re.Match[str]], text: str, at: int, line: str, title: tuple[str | None, str]
) -> list[_File]:
    """Of one line of a log: each resource is named before its figures, or above."""
    made: list[_File] = []
    resource, end = title[0], 0
    for match in rows:
        named = _WORD.findall(text[end : match.start()])
        if named or not made or match["kind"] in made[-1].rows:
            resource = _resource(named[-1]) if named else resource
            made.append(_File(resource, title[1]))
        made[-1].rows[match["kind"]] = match
        end = match.end()
    made[0].lines.append((at, line))
    return made


def _named(text: str) -> tuple[str | None, str] | None:
    """(resource, scope) of a file's path, or of a bare name before a colon."""
    if match := _RESOURCE.search(text):
        scope = "machine" if match[1] else group_of(text) or "control group"
        return match[1] or match[2], scope
    return (text, "machine") if text in {"cpu", "io", "memory", "irq"} else None


def _name(files: Sequence[_File], block: Block, parsed: Parsed) -> None:
    """Name those that have no name: by the command's words, else by what only one of the files has."""
    nameless = [one for one in files if one.resource is None]
    if not nameless:
        return
    typed = _typed(" ".join(block.command or ()))
    if typed:
        for at, one in enumerate(nameless):
            one.resource, one.scope = typed[at % len(typed)]
        return
    for names in (("cpu", "io", "memory"), ("cpu", "io", "irq", "memory")):
        if len(nameless) % len(names) == 0 and all(
            _fits(one, names[at % len(names)]) for at, one in enumerate(nameless)
        ):
            for at, one in enumerate(nameless):
                one.resource = names[at % len(names)]
            parsed.note(f"pressure without names is taken for {', '.join(names)}, in this order")
            return


def _typed(command: str) -> list[tuple[str, str]]:
    if braces := _BRACES.search(command):
        return [(name, "machine") for name in braces[1].split(",") if name]
    named = [_named(word) for word in command.split()]
    return [(one[0], one[1]) for one in named if one is not None and one[0] is not None]


def _fits(one: _File, name: str) -> bool:
    if name == "irq":
        return set(one.rows) == {"full"}
    if name == "cpu":
        return "some" in one.rows and (
            "full" not in one.rows or int(one.rows["full"]["total"]) == 0
        )
    return set(one.rows) == {"some", "full"}


def _averages(parsed: Parsed, one: _File) -> None:
    """The kernel's running averages of the latest copy; a note where somebody stalled in the last five minutes."""
    subject = one.resource if one.scope == "machine" else f"{one.scope} {one.resource}"
    assert subject is not None
    for kind, match in one.rows.items():
        shares = [number(match[name]) for name in ("ten", "sixty", "long")]
        if any(share is None or share > 100 for share in shares):
            continue
        for seconds, share in zip((10, 60, 300), shares, strict=True):
            assert share is not None
            parsed.measure(subject, f"{kind}_stalled_{seconds}s_share", share / 100)
        if kind == "some" and any(shares):
            ten, _, long = shares
            parsed.note(
                f"pressure (PSI): some threads stalled for {subject} in {ten:g} % of the last 10 s, {long:g} % of the last 5 min"
            )
