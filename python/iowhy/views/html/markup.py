"""HTML from texts that come from anybody: anything but `Markup` is escaped, and names can be replaced on the way."""

import html
from collections.abc import Callable

from iowhy.messages import printable

Say = Callable[[str], str]
"""How a text of the recording is shown: as it is, or with its names replaced (redaction.py)."""

#: Elements without content (HTML, 13.1.2).
_VOID = frozenset({"br", "col", "hr", "input", "link", "meta", "rect"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """A text as HTML shows it; control characters are made visible, as on a terminal."""
    return Markup(html.escape(printable(text), quote=True))


def element(name: str, /, *children: str, **attributes: str | int | float | bool | None) -> Markup:
    """`<name attributes>children</name>`; an attribute that is None or false is left out, `class_` is `class`.

    Attributes are texts, never scripts or styles: the page's policy forbids those.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        named = key.rstrip("_").replace("_", "-")
        words.append(named if value is True else f'{named}="{escaped(str(value))}"')
    head = f"<{' '.join(words)}>"
    if name in _VOID:
        return Markup(head)
    return Markup(f"{head}{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Children one after the other."""
    return Markup("".join(one if isinstance(one, Markup) else escaped(one) for one in children))


def lines(*children: str) -> Markup:
    """The same, each on its own line; what is empty is left out."""
    return Markup(
        "\n".join(one if isinstance(one, Markup) else escaped(one) for one in children if one)
    )
