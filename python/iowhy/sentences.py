"""Sentences that carry the id and the values they were made of: views print them, JSON has all three, tests ask for ids and values.

    worded("flushes", "{flushes:count} cache flushes of {device}, {each:ns} each", flushes=10_039, device="vda", each=29_000)

A place says how its value is written: `share`, `ns`, `bytes`, `rate`, `count`, `count WORD` for `1 WORD`, `2 WORDs`, or `count
WORD/MANY`; without any of these it is text. Templates are literals, so that `make words` can print them all. A part of a sentence may be a sentence.
"""

import string
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from iowhy import messages, units

KINDS: Mapping[str, Callable[[Any], str]] = {
    "share": units.percent,
    "ns": units.duration,
    "bytes": units.size,
    "rate": units.rate,
    "count": units.count,
}
_COUNTED = "count "
#: A path of more letters is cut within a sentence.
MOST_OF_A_NAME = 256
MOST = 1000
Text = TypeVar("Text", bound=str)


class Sentence(str):
    """Text with its `id` and `values`; whatever changes the text gives a plain one."""

    id: str
    values: Mapping[str, object]


class _Places(string.Formatter):
    def named(self, name: str) -> str:
        """A name as somebody else gave it, which neither makes lines of ours nor fills them; `values` have it whole."""
        return _one_line(name, MOST_OF_A_NAME)

    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec and isinstance(value, str) and not isinstance(value, Sentence):
            return self.named(value)
        if format_spec in KINDS:
            return KINDS[format_spec](value)
        if format_spec.startswith(_COUNTED):
            return units.plural(value, *format_spec.removeprefix(_COUNTED).split("/"))
        return str(super().format_field(value, format_spec))


class _AsGiven(_Places):
    def named(self, name: str) -> str:
        return name


def _one_line(text: str, most: int) -> str:
    shown = messages.printable(text)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def worded(id_: str, template: str, /, **values: object) -> Sentence:
    """The sentence of a template. Raises KeyError for a place without a value."""
    return _made(_Places().format(template, **values), id_, values)


def as_given(id_: str, template: str, /, **values: object) -> Sentence:
    """The same of what may have lines, as other programs' messages in errors do."""
    return _made(_AsGiven().format(template, **values), id_, values)


def named(id_: str, text: str, /, **values: object) -> Sentence:
    """A text that was put together elsewhere, with its id; names in it make no lines, either."""
    return _made(_one_line(text, MOST), id_, values)


def changed(said: Text, text: str) -> Text:
    """The same with other words: commands as they are typed, a capital, a full stop."""
    return cast(Text, _made(text, said.id, said.values) if isinstance(said, Sentence) else text)


def _made(text: str, id_: str, values: Mapping[str, object]) -> Sentence:
    made = Sentence(text)
    made.id, made.values = id_, values
    return made


def described(text: str) -> dict[str, object]:
    """A sentence for JSON: null and none for one that has no id yet."""
    if not isinstance(text, Sentence):
        return {"id": None, "values": {}, "sentence": text}
    values = {
        name: described(value) if isinstance(value, Sentence) else value
        for name, value in text.values.items()
    }
    return {"id": text.id, "values": values, "sentence": str(text)}
