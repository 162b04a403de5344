"""Options as arguments of a Python function: `--max-time 2m` is `max_time="2m"`."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from iowhy.errors import Problem
from iowhy.options.described import Parameter, build, parameters

Options = TypeVar("Options")


def from_keywords(
    options: type[Options], function: str, words: Mapping[str, Any], given: Mapping[str, Any]
) -> Options:
    """The options of a command from `words` (by field) and keyword arguments (by long flag).

    Values are texts as on the command line, or numbers, truths, paths and lists. Raises Problem that names the
    function and the argument.
    """
    known = {keyword(one): one for one in parameters(options) if one.described.flags}
    values = dict(words)
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(sorted(known))}"
            raise Problem(f"{function}: there is no {name}{meant}")
        values[known[name].name] = _value(known[name], value)
    try:
        return build(options, values)
    except Problem as problem:
        raise Problem(f"{function}: {problem}") from None


def keyword(parameter: Parameter) -> str:
    """The name of the argument: of `--max-time` it is `max_time`."""
    return parameter.called.lstrip("-").replace("-", "_")


def _value(parameter: Parameter, value: Any) -> Any:
    """As the command line gives it, where the option makes its value of a text: 2.5 is 2.5 seconds there."""
    if parameter.repeated:
        many = value if isinstance(value, (list, tuple)) else [value]
        return [_text(parameter, one) for one in many]
    return _text(parameter, value)


def _text(parameter: Parameter, value: Any) -> Any:
    takes_text = parameter.described.read is not None or not isinstance(value, (bool, int, float))
    return str(value) if takes_text and value is not None else value
