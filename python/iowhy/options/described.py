"""How a field of a dataclass says which option of a command it is, and what it may hold."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from iowhy.errors import Problem

Options = TypeVar("Options")
Read = Callable[[str, str], Any]
"""From (the option's name, the text given) to the field's value; raises Problem that shows the way out."""

_DESCRIBED = "described"
_GROUP = "group"


class Described(Struct, frozen=True):
    """One option; without `flags` a word that stands alone.

    read: makes the value from the text; of a field that is a tuple each text may give several values.
    bare: what it is where its flag has no value behind it. least: the smallest number allowed. choices: the texts allowed. begins_command: the first of these words
    begins a command, whose own options follow.
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    read: Read | None = None
    least: float | None = None
    choices: tuple[str, ...] = ()
    hidden: bool = False
    bare: str | None = None
    begins_command: bool = False


class Parameter(Struct, frozen=True):
    """A field with its description. `panel` is the heading that its group is under in the help."""

    name: str
    kind: Any
    default: Any
    described: Described
    panel: str | None

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING

    @property
    def repeated(self) -> bool:
        """Whether it takes any number of values."""
        return get_origin(self.kind) is tuple

    @property
    def takes_value(self) -> bool:
        """Whether the word after its flag belongs to it."""
        return self.kind is not bool

    @property
    def value_kinds(self) -> set[Any]:
        """The types that one value may have."""
        kind = get_args(self.kind)[0] if self.repeated else self.kind
        return {kind, *get_args(kind)}

    @property
    def value_name(self) -> str:
        """What names a value in the help."""
        return "PATH" if Path in self.value_kinds else "N" if int in self.value_kinds else "TEXT"

    @property
    def called(self) -> str:
        """Its name in messages: the long flag, or the name of a word."""
        flags = self.described.flags
        return max(flags, key=len) if flags else self.described.metavar or self.name.upper()


def option(*flags: str, help: str, default: Any = None, **more: Any) -> Any:
    """A field that is an option: `--since`, or `-p` and `--pid`. `more` as in Described."""
    return field(default=default, metadata={_DESCRIBED: Described(help, flags, **more)})


def switch(*flags: str, help: str, **more: Any) -> Any:
    """A field that is true where the option is given."""
    return option(*flags, help=help, default=False, **more)


def word(help: str, default: Any = None, **more: Any) -> Any:
    """A field that is its own word on the command line, or all of them for a tuple."""
    return field(default=default, metadata={_DESCRIBED: Described(help, **more)})


def needed(help: str, **more: Any) -> Any:
    """A word that must be given."""
    return field(metadata={_DESCRIBED: Described(help, **more)})


def group(options: Any, panel: str | None = None) -> Any:
    """A field that holds options which several commands share, or the same ones with other defaults."""
    make = options if callable(options) else lambda: options
    return field(default_factory=make, metadata={_GROUP: panel or ""})


def parameters(options: type, panel: str | None = None) -> tuple[Parameter, ...]:
    """All options of a dataclass, those of its groups included, in the order of the help."""
    kinds = get_type_hints(options)
    found: list[Parameter] = []
    for one in fields(options):
        kind = kinds[one.name]
        if _GROUP in one.metadata:
            inner = parameters(kind, one.metadata[_GROUP] or panel)
            preset = one.default_factory()  # type: ignore[operator]
            found += [
                Parameter(p.name, p.kind, getattr(preset, p.name), p.described, p.panel)
                for p in inner
            ]
        else:
            found.append(Parameter(one.name, kind, one.default, one.metadata[_DESCRIBED], panel))
    return tuple(found)


def build(options: type[Options], given: Mapping[str, Any]) -> Options:
    """The dataclass from texts, numbers and truths by field name. Raises Problem for one that is no good."""
    kinds = get_type_hints(options)
    values: dict[str, Any] = {}
    given = {p.name: p.default for p in parameters(options) if not p.required} | {**given}
    for one in fields(options):  # type: ignore[arg-type]
        if _GROUP in one.metadata:
            values[one.name] = build(kinds[one.name], given)
    for parameter in parameters(options):
        if parameter.name in kinds and parameter.name in given:
            values[parameter.name] = _value(parameter, given[parameter.name])
    return options(**values)


def _value(parameter: Parameter, given: Any) -> Any:
    described = parameter.described
    if parameter.repeated:
        values = [_one(parameter, value) for value in given or ()]
        flat = [v for value in values for v in (value if isinstance(value, tuple) else (value,))]
        return tuple(flat)
    if given is None:
        return None
    value = _one(parameter, given)
    if described.least is not None and value < described.least:
        raise Problem("below-least", called=parameter.called, given=given, least=described.least)
    return value


def _one(parameter: Parameter, given: Any) -> Any:
    described = parameter.described
    if described.choices and given not in described.choices:
        *most, last = described.choices
        raise Problem(
            "not-a-choice", called=parameter.called, given=given, most=", ".join(most), last=last
        )
    if not isinstance(given, str):
        return given
    if described.read is not None:
        return described.read(parameter.called, given)
    kinds = parameter.value_kinds
    if int in kinds:
        return _whole(parameter.called, given)
    return Path(given) if Path in kinds else given


def _whole(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Problem("not-a-number", option=option, text=text) from None
