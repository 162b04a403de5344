"""Errors of a query over a recording, known without importing DuckDB: that takes a tenth of a second, which an error can wait for."""

import sys
from pathlib import Path

from iowhy.errors import Problem


class UnexpectedValue(TypeError):
    """A value that the schema rules out, as only a damaged recording holds one."""


def is_query_error(error: BaseException) -> bool:
    """Whether an error is the recording's: DuckDB's (what was never imported has raised none), or of a value in it."""
    if isinstance(error, UnexpectedValue):
        return True
    return _is_one(error, "Error")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a query needed more memory, or more temporary files, than it may have."""
    return _is_one(error, "OutOfMemoryException")


def removed_while_read(what: Path | str) -> Problem:
    """A recording, or a file of it, that was removed while it was read."""
    return Problem("removed-while-read", what=what)


def _is_one(error: BaseException, kind: str) -> bool:
    module = sys.modules.get("duckdb")
    return module is not None and isinstance(error, getattr(module, kind))
