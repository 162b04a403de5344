"""A statement without its literals: what a recording may keep of it."""

import hashlib
import re

#: Of a statement, what is looked at: servers may hold megabytes.
MOST_CHARACTERS = 2_000
_QUOTED = r"'(?:[^']|'')*(?:'|\Z)"
_ESCAPED = r"'(?:[^'\\]|''|\\.)*(?:'|\\?\Z)"
_NUMBER = r"(?<![\w$@])[-+]?(?:0[xXbBoO][0-9A-Fa-f]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
#: What ends nowhere is cut off by the server, or by us: it goes to the end.
_POSTGRESQL = re.compile(
    rf"""(?P<gap>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<literal>[eE]{_ESCAPED}|(?:[bBxXnN]|[uU]&)?{_QUOTED}|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)|{_NUMBER})
    |(?P<kept>"(?:[^"]|"")*(?:"|\Z)|[^\W\d][\w$]*|\$\d+)""",
    re.VERBOSE | re.DOTALL,
)
_MYSQL = re.compile(
    rf"""(?P<gap>\s+|--(?=\s|\Z)[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<literal>(?:[bBxXnN]|_\w+\s*)?{_ESCAPED}|"(?:[^"\\]|""|\\.)*(?:"|\\?\Z)|{_NUMBER})
    |(?P<kept>`(?:[^`]|``)*(?:`|\Z)|[^\W\d][\w$]*)""",
    re.VERBOSE | re.DOTALL,
)
_LISTS = re.compile(r"\?(?: ?, ?\?)+|\(\?\)(?: ?, ?\(\?\))+")
#: Statements that hold a secret in their text.
_SECRET = re.compile(r"password|identified|passwd|secret|token|credential", re.IGNORECASE)


def normalised(text: str, *, mysql: bool = False) -> str:
    """The statement with `?` instead of each literal, without comments, on one line; lists of literals are one."""
    tokens = _MYSQL if mysql else _POSTGRESQL
    made = tokens.sub(_without, text[:MOST_CHARACTERS].replace("\0", " "))
    made = " ".join("".join(c if c.isprintable() else " " for c in made).split())
    before = ""
    while before != made:
        before, made = (
            made,
            _LISTS.sub(
                lambda found: found[0][: found[0].index("?") + 1] + ")" * (found[0][0] == "("), made
            ),
        )
    return made.rstrip("; ")


def _without(found: re.Match[str]) -> str:
    if found["gap"] is not None:
        return " "
    return found[0] if found["literal"] is None else "?"


def whole(text: str) -> str | None:
    """The text as it is, unless it may hold a secret."""
    return None if _SECRET.search(text) else text[:MOST_CHARACTERS].replace("\0", " ")


def fingerprint(server: str, text: str) -> str:
    """The id of a normalised statement."""
    return hashlib.sha256(f"{server}\0{text.lower()}".encode(errors="replace")).hexdigest()[:12]
