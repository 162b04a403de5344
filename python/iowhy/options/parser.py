"""From words to described options, by argparse: `--since`, `-p 1 -p 2`, options between the words, `--` before the last ones."""

import argparse
import shutil
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby
from typing import Any, NoReturn, TypeVar

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.options.described import Parameter, build, parameters
from iowhy.quantities import duration_ns, size_bytes

Options = TypeVar("Options")
IsOurs = Callable[[str], bool]

HELP = ("-h", "--help")
_WORDS = "words "  # no field has a blank in its name
_WIDEST = 100
_UNITS = {"second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d"}
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # shtab.FILE, which only builds need


class HelpAsked(Exception):
    """The call asks what the command is, and not to carry it out."""


class _AskHelp(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        raise HelpAsked


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are Problems."""

    def error(self, message: str) -> NoReturn:
        """Raises Problem, in words of ours."""
        wrong = message.removeprefix("unrecognized arguments: ")
        if wrong == message:
            raise Problem("wrong-argument", what=message.removeprefix("argument "))
        wrong = wrong.split()[0]
        flags = [flag for action in self._actions for flag in action.option_strings]
        near = get_close_matches(wrong.partition("=")[0], flags, 1)
        if near:
            raise Problem("unexpected-argument-near", wrong=wrong, near=near[0])
        raise Problem("unexpected-argument", wrong=wrong)


def parser_of(path: str, options: type, about: str = "", epilog: str = "") -> Parser:
    """The parser of a command's options, for its help, its man page and completion; its words are shown as well."""
    known = [one for one in parameters(options) if not one.described.hidden]
    words = [one for one in known if not one.described.flags]
    made = Parser(
        path,
        usage=" ".join([path, "[OPTION]...", *map(_usage, words)]),
        description=about,
        epilog=epilog,
        formatter_class=formatter,
        allow_abbrev=False,
    )
    for one in words:
        shown = made.add_argument(one.name, metavar=one.called, nargs="?", help=one.described.help)
        shown.complete = _FILES  # type: ignore[attr-defined]
    _add_options(made, known, completed=True)
    return made


def parse(options: type[Options], words: Sequence[str], ours: IsOurs = lambda _: False) -> Options:
    """The options that the words give.

    ours: of a command whose words begin another command, which words still belong to this one; options may be
    between them. Raises HelpAsked, and Problem for what makes no sense.
    """
    known = parameters(options)
    begins_command = any(one.described.begins_command for one in known)
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument(*HELP, action=_AskHelp, nargs=0)
    _add_options(parser, known)
    taken: list[str] = []
    given = argparse.Namespace()
    if begins_command:
        parser.add_argument(_WORDS, nargs=argparse.REMAINDER)
        rest = list(words)
        while rest:
            given = parser.parse_args(rest, given)
            rest = getattr(given, _WORDS)
            if not rest or not ours(rest[0]):
                break
            taken.append(rest.pop(0))
        taken += rest[1:] if rest[:1] == ["--"] else rest
        ours_end = len(words) - len(taken) + 1
        _must_be_whole(words[:ours_end], known)
    else:
        parser.add_argument(_WORDS, nargs="*")
        at = words.index("--") if "--" in words else len(words)
        given = parser.parse_intermixed_args(words[:at])
        taken = [*getattr(given, _WORDS), *words[at + 1 :]]
        _must_be_whole(words[:at], known)
    found = {name: value for name, value in vars(given).items() if name != _WORDS}
    placed = [one for one in known if not one.described.flags]
    return build(options, found | _placed(placed, taken))


def _add_options(parser: Parser, known: Sequence[Parameter], *, completed: bool = False) -> None:
    """The options under the headings of their groups; `completed`: with what their values may be, which `build` checks."""
    flagged = [one for one in known if one.described.flags]
    for panel, inside in groupby(flagged, lambda one: one.panel):
        group = parser if panel is None else parser.add_argument_group(panel)
        for one in inside:
            _add_option(group, one, completed=completed)


def _add_option(group: Any, one: Parameter, *, completed: bool) -> None:
    described = one.described
    flags = sorted(described.flags, key=len)
    about = (
        argparse.SUPPRESS if described.hidden else (described.help + _note(one)).replace("%", "%%")
    )
    if not one.takes_value:
        group.add_argument(
            *flags, dest=one.name, action="store_true", default=argparse.SUPPRESS, help=about
        )
        return
    may_be_bare = {} if described.bare is None else {"nargs": "?", "const": described.bare}
    made = group.add_argument(
        *flags,
        dest=one.name,
        **may_be_bare,
        action="append" if one.repeated else "store",
        default=argparse.SUPPRESS,
        metavar=described.metavar or one.value_name,
        help=about,
    )
    if completed and described.choices:
        made.choices = described.choices
    elif completed:
        made.complete = _FILES


def _must_be_whole(words: Sequence[str], known: Sequence[Parameter]) -> None:
    """Raises Problem for a time or size in two words: `--duration 5 minutes`."""
    of_quantities = (one.described for one in known if one.described.metavar in ("TIME", "SIZE"))
    flags = {flag for one in of_quantities for flag in one.flags}
    for flag, number, unit in zip(words, words[1:], words[2:], strict=False):
        short = _UNITS.get(unit.lower().removesuffix("s"), unit)
        quantity = duration_ns(number + short), size_bytes(number + short)
        if flag in flags and number.isdigit() and unit.isalpha() and quantity != (None, None):
            raise Problem("quantity-in-two-words", flag=flag, number=number, unit=unit, short=short)


def _placed(known: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any]:
    """Words by the names of their fields: one each, and all that are left for a field of several."""
    rest = list(words)
    given: dict[str, Any] = {}
    for one in known:
        if one.repeated:
            given[one.name], rest = rest, []
        elif rest:
            given[one.name] = rest.pop(0)
        elif one.required:
            raise Problem("word-missing", called=one.called, help=one.described.help)
    if rest and [one.called for one in known] == ["REC"]:
        raise Problem("one-recording-only", first=quoted(words[0]), second=quoted(rest[0]))
    if rest:
        raise Problem("unexpected-argument", wrong=rest[0])
    return given


def _usage(one: Parameter) -> str:
    name = one.called
    return name if one.required or name.startswith("[") else f"[{name}]"


def _note(one: Parameter) -> str:
    # What was read from a text (bytes, nanoseconds) is no text to type: the help says what it is.
    if not one.takes_value or one.described.read is not None:
        return ""
    if one.repeated:
        return " (may be repeated)"
    return f" (default {one.default})" if one.default not in (None, "") else ""


def formatter(prog: str) -> argparse.HelpFormatter:
    """What lays a help out: as wide as the terminal, up to 100 columns."""
    width = min(_WIDEST, shutil.get_terminal_size().columns - 2)
    return _Formatter(prog, max_help_position=30, width=width)


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs; indented lines are examples and stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(self._paragraphs(text, width, indent))

    def _paragraphs(self, text: str, width: int, indent: str) -> Iterator[str]:
        for block in text.strip("\n").split("\n\n"):
            yield block if block.startswith(" ") else super()._fill_text(block, width, indent)
