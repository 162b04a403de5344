"""The commands that a verdict names, as they are typed: with the real command, its input, and the recording's name.

Causes write `CMD` and leave out recordings, as they know none; `Commands.filled` puts both in.
"""

import math
import re
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from iowhy.free_name import free_name
from iowhy.invocation import as_root, joined, quoted, typed
from iowhy.sentences import Text, changed
from iowhy.users import is_everything
from iowhy.whys.facts import Facts, started, used_files
from iowhy.whys.proof_time import USUAL_S, bound, seconds_needed

#: Who was recorded for less is recorded for so long the next time, in seconds.
_LEAST_S = 10
_RUN = re.compile(r"(?:sudo )?iowhy run -- CMD")
#: Scratch directories of the lab and control groups of ours: they are gone when somebody reads this.
_GONE = re.compile(r"/iowhy-(?:lab-[0-9a-f]{12}|[0-9]+-[a-z-]+-[0-9a-f]{6})(?:/|$)")
#: Levers that need no data: they are about CPUs.
_OF_THE_CPU = frozenset({"cpu-quota", "cpu-pin", "cpu-frequency"})
#: Levers that run the command in a copy of where its data lie (iowhy.experiments.copies).
_COPIES = frozenset({"sync-free", "fast-device", "preallocate"})
_REPORT = re.compile(r"`iowhy report ([a-z-]+)`")


class Commands(Struct, frozen=True, dict=True):
    """What can be typed about one recording. `directory` is where its command ran, None for here."""

    recording: Path
    mode: str
    argv: tuple[str, ...] = ()
    directory: Path | None = None
    input_file: Path | None = None
    pids: tuple[int, ...] = ()
    #: What named control groups.
    groups: tuple[str, ...] = ()
    seconds: float | None = None
    #: Where its data lie, when that is not where it ran.
    data: used_files.DataPlace | None = None
    #: Whether a second run would find what the first one read.
    repeatable: bool = True

    @cached_property
    def command(self) -> str:
        """The command itself, quoted for a shell, with what it read on its standard input."""
        given = "" if self.input_file is None else f" < {self._place(self.input_file)}"
        return joined(self.argv) + given

    def record_again(self, output: Path | None = None) -> str:
        """Records the same once more; for a paste, the whole machine."""
        kept = "" if output is None else f" -o {self._place(output)}"
        if self.mode == "run" and self.argv:
            return f"{self._there}{as_root()} run{kept} -- {self.command}"
        long = f" --duration {max(_LEAST_S, math.ceil(self.seconds or 30))}s"
        if self.groups:
            return f"{as_root()} run{kept} {joined(self.groups)}{long}"
        if self.mode == "attach" and self.pids:
            return f"{as_root()} run{kept} -p {','.join(map(str, self.pids))}{long}"
        return f"{as_root()} run{kept} -a{long}"

    def prove(self, lever: str | None, *, unsafe: bool, cache: str | None = None) -> str | None:
        """The experiment that would prove a cause; None without a lever, where no command was run, where a copy would be one of
        everything (a home), for what takes away its own input, and for what the lab ran: what that was prepared with is gone.
        """
        if lever is None or self.mode != "run" or not self.argv or not self.repeatable:
            return None
        if any(_GONE.search(word) for word in (*self.argv, str(self.directory or ""))):
            return None
        place = (
            "" if lever in _OF_THE_CPU else self._data_place(lever in _COPIES or cache is not None)
        )
        if place is None:
            return None
        allow = " --allow-unsafe" if unsafe else ""
        state = "" if cache is None else f" --cache {cache}"
        given = "" if self.input_file is None else f" --input {self._place(self.input_file)}"
        needed_s = seconds_needed(self.seconds or 0.0)
        within = f" --within {bound(needed_s)}" if needed_s > USUAL_S else ""
        of = f" --recording {self._place(self.recording)}"
        return (
            f"{self._there}{as_root()} experiment {lever}{allow}{state}{place}{within}{given}{of} -- "
            f"{joined(self.argv)}"
        )

    def _data_place(self, whole: bool) -> str | None:
        """` --data-directory DIR` where its data are elsewhere. `whole`: all that is there is copied or walked
        through, which None says cannot be done with what it would be."""
        where = self.directory or Path.cwd()
        if self.data is None:
            return None if whole and is_everything(where) else ""
        directory = self.data.directory
        if is_everything(directory):
            if whole:
                return None
            directory = self.data.heaviest
        return "" if directory == where else f" --data-directory {quoted(str(directory))}"

    def compare_again(self) -> tuple[str, str] | None:
        """For what runs on: record it after a change, and compare; None for a command and for a paste."""
        if self.mode not in ("attach", "machine"):
            return None
        after = _free(self.recording)
        return (
            self.record_again(after),
            f"iowhy compare {typed(self.recording)} {self._place(after)}",
        )

    def repeat(self, times: int) -> str:
        """Records many runs as one, for a command that is over too soon."""
        loop = f"for i in $(seq {times}); do {self.command}; done"
        return f"{self._there}{as_root()} run -- sh -c {quoted(loop)}"

    def filled(self, text: Text) -> Text:
        """A sentence of a cause, with its commands as they are typed."""
        said = _REPORT.sub(rf"`iowhy report \1 {typed(self.recording)}`", text)
        return changed(text, _RUN.sub(lambda _: self.record_again(), said))

    @property
    def _there(self) -> str:
        return "" if self.directory is None else f"cd {quoted(str(self.directory))} && "

    def _place(self, path: Path) -> str:
        """A path as it is typed where the command runs."""
        if self.directory is not None:
            return quoted(str(path.absolute()))
        return typed(path)


def commands(facts: Facts) -> Commands:
    """The commands about a recording."""
    run, command = facts.run, facts.manifest.command
    input_file = None
    if run.mode == "run" and not run.pasted:
        input_file = started.input_file(facts.relations)
    directory = None if command.cwd is None or run.pasted else Path(command.cwd)
    return Commands(
        recording=facts.recording.path,
        mode="paste" if run.pasted else run.mode,
        argv=run.argv,
        directory=None if directory == Path.cwd() else directory,
        input_file=None if input_file is None else Path(input_file),
        pids=started.roots(facts.relations) if run.mode == "attach" else (),
        groups=command.groups,
        seconds=None if run.pasted else run.seconds,
        data=used_files.outside(facts.relations, facts.page_bytes, directory)
        if run.mode == "run" and directory is not None
        else None,
        repeatable=not facts.inputs_gone,
    )


def _free(recording: Path) -> Path:
    """A name for the recording after a change, next to this one: x-after.iowhy, x-after-2.iowhy, …"""
    stem = recording.name.removesuffix(".iowhy")
    return free_name(recording.parent, f"{stem}-after")
