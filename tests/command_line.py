"""Calls the command line in this process, with streams of its own."""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from iowhy.cli._commands import run


@dataclass(frozen=True)
class Done:
    """How a call ended; `exception` is what it raised beside an exit status."""

    exit_code: int
    stdout: str
    stderr: str
    exception: BaseException | None

    @property
    def output(self) -> str:
        """What was printed on both streams."""
        return self.stdout + self.stderr


class _Stream(io.TextIOWrapper):
    def __init__(self, text: str | bytes | None = None) -> None:
        data = text.encode() if isinstance(text, str) else text or b""
        super().__init__(io.BytesIO(data), encoding="utf-8", newline="")

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]


def invoke(
    words: Sequence[str],
    input: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
) -> Done:
    """`iowhy` with these words."""
    out, err = _Stream(), _Stream()
    code, raised = 0, None
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, env or {}))
        stack.enter_context(patch.object(sys, "stdin", _Stream(input)))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            run(words)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except Exception as error:
            code, raised = 1, error
    return Done(code, out.text(), err.text(), raised)
