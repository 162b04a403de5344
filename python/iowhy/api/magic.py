"""`%%iowhy`, the magic of notebooks: records a cell and shows the verdict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.options.described import option


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is behind `%%iowhy`."""

    output: Path | None = option("-o", "--output", help="Where to keep the recording.")
    mode: str = option("--mode", default="auto", choices=("auto", "bpf", "proc"), help="As of run.")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext iowhy`: makes the magic known."""

    def iowhy(line: str, cell: str) -> Any:
        """Record a cell and say why it is slow: %%iowhy [-o NAME] [--mode proc]."""
        return _recorded(shell, line, cell)

    shell.register_magic_function(iowhy, magic_kind="cell")


def _recorded(shell: Any, line: str, cell: str) -> Any:
    """The recording of the cell, which a notebook shows as its verdict; a cell that fails shows its own error."""
    import shlex

    from iowhy.api.functions import recording
    from iowhy.options.parser import HelpAsked, parse

    try:
        options = parse(Options, shlex.split(line))
        with recording(options.output, mode=options.mode) as found:
            ran = shell.run_cell(cell)
    except (Problem, HelpAsked, ValueError) as problem:
        print(f"iowhy: {problem}" if str(problem) else "%%iowhy [-o NAME] [--mode auto|bpf|proc]")
        return None
    return found if ran.success else None
