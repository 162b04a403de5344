"""The few words of JSON Schema (2020-12) that docs/schema/ uses, checked without a package for all of them."""

from collections.abc import Iterator
from typing import Any

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
WORDS = frozenset(
    {"$schema", "title", "description", "type", "properties", "required", "items", "additionalProperties",
     "enum", "const"}
)  # fmt: skip


def broken(schema: dict[str, Any], value: Any, at: str = "$") -> Iterator[str]:
    """What of a value is not as the schema says; a key that it does not describe is one, too."""
    assert set(schema) <= WORDS, set(schema) - WORDS
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(kind, value) for kind in kinds):
        yield f"{at}: {value!r} is none of {kinds}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from broken(schema.get("items", {}), one, f"{at}[{number}]")
    if isinstance(value, dict):
        yield from _object(schema, value, at)


def _object(schema: dict[str, Any], value: dict[str, Any], at: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{at}: {key} is missing"
    for key, one in value.items():
        if key in known:
            yield from broken(known[key], one, f"{at}.{key}")
        elif "additionalProperties" in schema:
            yield from broken(schema["additionalProperties"], one, f"{at}.{key}")
        elif known:
            yield f"{at}: {key} is not described"


def _is(kind: str, value: Any) -> bool:
    return isinstance(value, _TYPES[kind]) and not (
        isinstance(value, bool) and kind in ("integer", "number")
    )
