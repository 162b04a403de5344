"""How much an answer to a program may be: cells and answers are cut, and say so."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iowhy.errors import Problem
from iowhy.messages import json_text

#: Longer texts are cut.
CELL_CHARACTERS = 4096
#: Of rows no more are given than fit; what has no rows and is larger is refused.
MOST_BYTES = 256 << 10

#: Types of DuckDB whose values are short.
_SHORT = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BOOLEAN|DATE|UUID"
    r"|TIME|TIMESTAMP(_S|_MS|_NS)?|INTERVAL"
)


def cut(value: Any) -> Any:
    """A value of JSON with its long texts cut."""
    if isinstance(value, str) and len(value) > CELL_CHARACTERS:
        return f"{value[:CELL_CHARACTERS]}… (cut, {len(value)} characters)"
    if isinstance(value, Mapping):
        return {key: cut(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [cut(one) for one in value]
    return value


def bounded_select(
    select: str, rows: int, types: Callable[[str], Sequence[tuple[str, str]]]
) -> str:
    """A SELECT of the first rows of another, with its long texts cut if they are made: a cell may be larger than the memory.

    `types` gives the columns of a SELECT and their types. Lists, structures and bytes become text.
    """
    inner = f"(\n{select}\n) AS asked"
    columns = [_column(name, kind) for name, kind in types(f"SELECT * FROM {inner}")]
    return f"SELECT {', '.join(columns)} FROM (SELECT * FROM {inner} LIMIT {rows})"


def _column(name: str, kind: str) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    if _SHORT.fullmatch(kind):
        return quoted
    text = quoted if kind == "VARCHAR" else f"CAST({quoted} AS VARCHAR)"
    return (
        f"CASE WHEN strlen({text}) > {CELL_CHARACTERS} AND length({text}) > {CELL_CHARACTERS} "
        f"THEN left({text}, {CELL_CHARACTERS}) || '… (cut, ' || length({text}) || ' characters)' ELSE {text} END AS {quoted}"
    )


def shown(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows that fit, their long texts cut already, as JSON has them: what it lacks is text. `cut` says how many there were, where not all fit."""
    import json

    kept: list[Any] = []
    left = MOST_BYTES
    for row in rows:
        text = json_text(row)
        left -= len(text.encode())
        if left < 0:
            break
        kept.append(json.loads(text))
    found: dict[str, Any] = {"columns": list(columns), "rows": kept}
    if len(kept) < len(rows):
        found["cut"] = (
            f"{len(kept)} of {len(rows)} rows fit into {MOST_BYTES >> 10} KiB: ask for fewer columns"
        )
    return found


def whole(answer: Any) -> Any:
    """An answer that is no table, its long texts cut. Raises Problem for one that is too large."""
    found = cut(answer)
    size = len(json_text(found).encode())
    if size > MOST_BYTES:
        raise Problem("answer-too-large", size=size >> 10, most_bytes=MOST_BYTES >> 10)
    return found
