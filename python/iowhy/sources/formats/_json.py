"""JSON in the middle of a text: with warnings before it, prose behind it, keys given twice."""

import json
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed


def value_of(block: Block, parsed: Parsed) -> object:
    """The block's JSON value; lines behind its end are rejected. None (and rejects) when it is cut.

    The first of two equal keys that has something in it counts: old fio prints empty percentiles
    twice, and some builds whole sections.
    """
    text = "\n".join(block.lines)
    start = len(text) - len(text.lstrip())
    decoder = json.JSONDecoder(object_pairs_hook=_first, parse_constant=lambda _: None)
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        parsed.note(f"{block.source}, line {block.first_line}: the JSON is cut or damaged: {error}")
        for number, line in enumerate(block.lines, block.first_line):
            if line.strip():
                parsed.reject(number, line)
        return None
    used = text.count("\n", 0, end) + 1
    parsed.lines_understood += used
    for offset, line in enumerate(block.lines[used:]):
        if line.strip():
            parsed.reject(block.first_line + used + offset, line)
    return value


def _first(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        if key not in result or result[key] in (None, {}, [], 0, 0.0, ""):
            result[key] = value
    return result


def mapping(value: object) -> dict[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def real(value: object) -> float | None:
    """The value if it is a number, else None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e300 else None
    return None


def reals(value: object) -> dict[str, float]:
    """The numbers of an object."""
    found = {key: real(one) for key, one in mapping(value).items()}
    return {key: one for key, one in found.items() if one is not None}


def host_of(parsed: Parsed, facts: dict[str, object]) -> None:
    """Note the machine of sysstat's JSON."""
    names = {"nodename": "name", "release": "kernel", "machine": "machine", "sysname": "os"}
    for key, name in names.items():
        if isinstance(facts.get(key), str):
            parsed.host.setdefault(name, facts[key])
    if isinstance(facts.get("number-of-cpus"), int):
        parsed.host.setdefault("cpus", facts["number-of-cpus"])
