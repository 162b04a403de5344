"""From the words of a call to the described options: GNU conventions, by the standard library's getopt.

Not by Typer: it takes 0.15 s to import with what it checks values by, and what the options are stands in the
dataclasses already.
"""

from collections.abc import Callable, Sequence
from getopt import GetoptError, gnu_getopt
from typing import Any, TypeVar

from iowhy.errors import Problem
from iowhy.options.described import Parameter, build, parameters

Options = TypeVar("Options")
IsOurs = Callable[[str], bool]

HELP = ("-h", "--help")


class HelpAsked(Exception):
    """The call asks what the command is, and not to carry it out."""


def parse(options: type[Options], words: Sequence[str], ours: IsOurs = lambda _: False) -> Options:
    """The options that the words give.

    ours: of a command whose words begin another command, which words still belong to this one; options may
    stand between them. Raises HelpAsked, and Problem for what makes no sense.
    """
    known = parameters(options)
    pairs, standing = _taken_apart(list(words), known, ours)
    if any(flag in HELP for flag, _ in pairs):
        raise HelpAsked
    by_flag = {flag: one for one in known for flag in one.described.flags}
    given: dict[str, Any] = {}
    for flag, text in pairs:
        one = by_flag[flag]
        if one.repeated:
            given.setdefault(one.name, []).append(text)
        else:
            given[one.name] = text if one.takes_value else True
    return build(
        options, given | _placed([one for one in known if not one.described.flags], standing)
    )


def _taken_apart(
    rest: list[str], known: Sequence[Parameter], ours: IsOurs
) -> tuple[list[tuple[str, str]], list[str]]:
    """The options with their values, and the words that stand alone."""
    short, long = _accepted(known)
    if not any(one.described.begins_command for one in known):
        return _getopt(rest, short, long)
    pairs: list[tuple[str, str]] = []
    standing: list[str] = []
    while True:
        before = rest
        found, rest = _getopt(before, f"+{short}", long)
        pairs += found
        at = len(before) - len(rest)
        dashes = at > 0 and before[at - 1] == "--"
        if dashes or not rest or not ours(rest[0]):
            return pairs, standing + rest
        standing.append(rest[0])
        rest = rest[1:]


def _accepted(known: Sequence[Parameter]) -> tuple[str, list[str]]:
    """The options in getopt's notation."""
    short, long = "h", ["help"]
    for one in known:
        for flag in one.described.flags:
            if flag.startswith("--"):
                long.append(flag[2:] + ("=" if one.takes_value else ""))
            else:
                short += flag[1:] + (":" if one.takes_value else "")
    return short, long


def _getopt(
    words: list[str], short: str, long: list[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    try:
        return gnu_getopt(words, short, long)
    except GetoptError as error:
        raise Problem(f"{error.msg}{_near(error.opt or '', long)}") from None


def _near(name: str, long: Sequence[str]) -> str:
    from difflib import get_close_matches  # of use for slips of the hand only

    near = get_close_matches(name, [one.rstrip("=") for one in long], 1) if len(name) > 1 else []
    return f"; did you mean --{near[0]}?" if near and near[0] != name else ""


def _placed(known: Sequence[Parameter], standing: Sequence[str]) -> dict[str, Any]:
    """Words by the names of their fields: one each, and all that are left for a field of several."""
    rest = list(standing)
    given: dict[str, Any] = {}
    for one in known:
        if one.repeated:
            given[one.name], rest = rest, []
        elif rest:
            given[one.name] = rest.pop(0)
        elif one.required:
            raise Problem(f"{one.called} is missing: {one.described.help}")
    if rest:
        raise Problem(f"{rest[0]}: one word more than there is a use for")
    return given
