"""Options of known programs that risk nothing."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.invocation import joined
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.whys import classes


def _more(option: str, *forms: str) -> Callable[[Sequence[str]], list[str] | None]:
    """Adds an option, unless one of its forms is there."""

    def change(words: Sequence[str]) -> list[str] | None:
        if any(word.startswith((option, *forms)) for word in words[1:]):
            return None
        return [words[0], option, *words[1:]]

    return change


def _buffered(words: Sequence[str]) -> list[str] | None:
    """Python without -u."""
    if "-u" not in words[1:]:
        return None
    at = list(words).index("-u")
    return [*words[:at], *words[at + 1 :]]


_CPUS = os.cpu_count() or 1
_CHANGES: dict[str, Callable[[Sequence[str]], list[str] | None]] = {
    "make": _more(f"-j{_CPUS}", "-j", "--jobs"),
    "xz": _more("-T0", "-T", "--threads"),
    "zstd": _more("-T0", "-T", "--threads"),
    "sort": _more("--buffer-size=50%", "-S", "--buffer-size"),
    "python3": _buffered,
    "python": _buffered,
}


class ProgramOptions(Knob, frozen=True):
    """One option more, or less."""

    name: str = "options"

    def changed(self, argv: Sequence[str]) -> list[str] | None:
        """The command with it; None if none is known."""
        change = _CHANGES.get(Path(argv[0]).name)
        return None if change is None else change(argv)

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """The command as it would be typed."""
        argv = self.changed(setting.argv)
        if argv is None:
            return ()
        many = Path(argv[0]).name in ("make", "xz", "zstd")
        # Calls that write a line each take time in the kernel, too.
        calls = clues.share(classes.READ, classes.WRITE, classes.KERNEL)
        worth = 1 - 1 / _CPUS if many else calls / 2
        return [Value(joined(setting.argv), joined(argv), worth)]

    def level(self, value: Value) -> Level:
        """Named by what is added or left out."""
        return Level(f"`{value.then}`", "changed", None)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """The other command."""
        yield Effect(argv=tuple(self.changed(setting.argv) or setting.argv))

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A script."""
        argv = self.changed(setting.argv) or setting.argv
        return Kept("a script of yours", f"exec {joined(argv)}\n", "run it so", "run it as before")


KNOB = ProgramOptions()
