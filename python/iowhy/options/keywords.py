"""Options as arguments of a Python function: `--max-time 2m` is `max_time="2m"`."""

from collections.abc import Mapping
from difflib import get_close_matches
from os import PathLike
from types import MappingProxyType
from typing import Any, TypeVar

from iowhy.errors import Problem
from iowhy.options.described import Parameter, build, parameters
from iowhy.sentences import changed

Options = TypeVar("Options")

_NONE: Mapping[str, str] = MappingProxyType({})


def from_keywords(
    options: type[Options],
    function: str,
    words: Mapping[str, Any],
    given: Mapping[str, Any],
    terminal: Mapping[str, str] = _NONE,
) -> Options:
    """The options of a command from `words` (by field) and keyword arguments (by long flag).

    Values are texts as on the command line, or numbers, truths, paths and lists; None is an option not given.
    terminal: options that only a terminal has a use for, each with what a program does instead; they are refused.
    Raises Problem that names the function and the argument.
    """
    known = {keyword(one): one for one in parameters(options) if one.described.flags}
    values = dict(words)
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(sorted(known))}"
            raise Problem("argument-unknown", function=function, name=name, meant=meant)
        if name in terminal and value:
            raise Problem(
                "option-of-the-command-line-only",
                function=function,
                name=name,
                terminal=terminal[name],
            )
        if value is not None:
            values[known[name].name] = _value(f"{function}: {name}", known[name], value)
    try:
        return build(options, values)
    except Problem as problem:
        raise Problem(changed(problem.sentence, f"{function}: {problem}")) from None


def keyword(parameter: Parameter) -> str:
    """The name of the argument: of `--max-time` it is `max_time`."""
    return parameter.called.lstrip("-").replace("-", "_")


def text_of(name: str, value: Any, kind: str = "a text or a path") -> str:
    """A text or a path that was given as an argument. Raises Problem that names it for anything else."""
    text = value.__fspath__() if isinstance(value, PathLike) else value
    if not isinstance(text, str) or "\0" in text:
        raise Problem("not-of-kind", name=name, value=value, kind=kind)
    return text


def texts_of(name: str, value: Any, kind: str) -> tuple[str, ...]:
    """Each of several. Raises Problem that names the argument for what is not a list of texts, paths and numbers."""
    if not isinstance(value, (list, tuple)):
        raise Problem("not-of-kind", name=name, value=value, kind=kind)
    return tuple(str(one) if _is_number(one) else text_of(name, one) for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(name: str, parameter: Parameter, value: Any) -> Any:
    """As the command line gives it, where the option makes its value of a text: 2.5 is 2.5 seconds there."""
    if parameter.repeated:
        many = value if isinstance(value, (list, tuple)) else [value]
        return [_one(name, parameter, one) for one in many]
    return _one(name, parameter, value)


def _one(name: str, parameter: Parameter, value: Any) -> Any:
    if not parameter.takes_value:
        if not isinstance(value, bool):
            raise Problem("not-a-flag", name=name, value=value)
        return value
    if parameter.described.read is None and int in parameter.value_kinds:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return text_of(name, value, "a whole number")
    return str(value) if _is_number(value) else text_of(name, value, "a text, a number or a path")
