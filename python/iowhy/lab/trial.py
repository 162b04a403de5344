"""One trial: prepare a variant on a stage, record its command, judge the recording."""

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.stage import Choice, stage
from iowhy.messages import say
from iowhy.recordings import open_recording
from iowhy.sources import live
from iowhy.sources.request import Request
from iowhy.undo import MARK_VARIABLE
from iowhy.whys.finding import Finding
from iowhy.whys.verdict import Verdict, judge


class Trial(Struct, frozen=True):
    """What came of one trial.

    `printed` are the figures that the command printed, with `elapsed_s`, `disks` (the statistics) and `links`
    (those of the findings' chains); `statistics` are those of the emulated disks during
    the command, in the order in which they were made. `others_cpus` is how many CPUs other programs used
    then (kernel threads count as others). `reread_bytes` is what an emulated disk read of that which was to be in
    memory. `recording` is None when it was not kept.
    """

    scenario: str
    variant: str
    choice: Choice
    seconds: float
    printed: Mapping[str, Any]
    statistics: tuple[Mapping[str, int | float], ...]
    verdict: Verdict
    recording: Path | None
    others_cpus: float = 0.0
    reread_bytes: int = 0

    @property
    def top(self) -> Finding | None:
        """The finding that could save most; None when nothing is wrong."""
        for finding in self.verdict.findings:
            if not finding.healthy:
                return finding
        return None

    @property
    def found(self) -> str:
        """Name of the top finding's cause, `healthy` when there is none."""
        return "healthy" if self.top is None else self.top.cause

    @property
    def share(self) -> float:
        """Share of the elapsed time that the top finding claims."""
        return 0.0 if self.top is None else self.top.share

    @property
    def could_save(self) -> float:
        """Share of the elapsed time that the top finding's remedy can gain at most."""
        return 0.0 if self.top is None else self.top.gain

    @property
    def own_seconds(self) -> float:
        """What the command takes without the recorder, where that took much of it: what the shares are of."""
        return self.seconds * (1.0 - self.verdict.budget.left_out)


#: How often a trial is made of what is to be in memory, while the kernel takes some of that out before it is read.
TRIES = 3


def run(
    scenario: Scenario,
    variant: Variant,
    choice: Choice,
    *,
    parent: Path | None = None,
    keep: Path | None = None,
    look: Callable[[Path], None] = lambda _recording: None,
) -> Trial:
    """Runs a variant of a scenario; `keep` is where to leave the recording.

    `look` is called with the recording before the stage is taken away.

    Where all is to be in memory, and its disk is read all the same (DAMON pages out what nobody has touched for a while), it is made
    again, at most thrice; `reread_bytes` of the last one says what was read.

    Raises Problem when the stage cannot be set, the command fails or cannot be recorded.
    """
    if keep is not None and keep.exists():
        raise Problem("folder-exists", path=keep)
    for _ in range(TRIES - 1):
        found = _once(scenario, variant, choice, parent, keep, look, last=False)
        if found is not None:
            return found
        say(f"{scenario.name}, {variant.name}: what was in memory had to be read again: once more")
    found = _once(scenario, variant, choice, parent, keep, look, last=True)
    assert found is not None
    return found


def _once(
    scenario: Scenario,
    variant: Variant,
    choice: Choice,
    parent: Path | None,
    keep: Path | None,
    look: Callable[[Path], None],
    *,
    last: bool,
) -> Trial | None:
    """One trial; None if it is not the last and what was to be in memory was read again."""
    with stage(choice, parent) as made:
        plan = variant.prepare(made)
        for filesystem in made.filesystems:
            filesystem.sync()
            if plan.cold:
                filesystem.cool()
            elif plan.cold is False:
                filesystem.warm()
        before = [disk.statistics() for disk in made.disks]
        out = made.folder / f"{scenario.name}-{variant.name}.iowhy"
        made.start_clock()
        used = _CpuUse.now()
        status, text, measured = record_plan(plan, out, made.undo.kill_marked()[1])
        others = _CpuUse.now().others_since(used)
        after = [disk.statistics() for disk in made.disks]
        made.stop_clock()
        if status == 128 + signal.SIGINT:
            # Ctrl-C, which the recorder passed on: nobody waits for a verdict on half a trial.
            raise SystemExit(status)
        if status != 0:
            raise Problem("trial-failed", argv=" ".join(plan.argv), status=status)
        statistics = tuple(_difference(a, b) for a, b in zip(before, after, strict=True))
        reread = (
            0 if plan.cold is not False else sum(one.get("read_bytes", 0) for one in statistics)
        )
        if reread and not last:
            return None
        recording = open_recording(out)
        command = recording.manifest.command
        seconds = measured
        if command.start_ns is not None and command.end_ns is not None:
            seconds = (command.end_ns - command.start_ns) / 1e9
        verdict = judge(recording)
        look(out)
        if keep is not None:
            shutil.copytree(out, keep)
        links = [link for finding in verdict.findings for link in finding.chain]
        return Trial(
            scenario.name,
            variant.name,
            choice,
            seconds,
            {**_figures(plan, text), "elapsed_s": seconds, "disks": statistics, "links": links},
            statistics,
            verdict,
            keep,
            others,
            int(reread),
        )


class _CpuUse(Struct, frozen=True):
    """Seconds since some start: of time, of all CPUs in use, of children of ours that ended."""

    time_s: float
    machine_s: float
    children_s: float

    @classmethod
    def now(cls) -> "_CpuUse":
        # user nice system idle iowait irq softirq steal, in ticks (proc_stat(5)).
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        busy = sum(int(fields[at]) for at in (0, 1, 2, 5, 6))
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), busy / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime)

    def others_since(self, before: "_CpuUse") -> float:
        used = (self.machine_s - before.machine_s) - (self.children_s - before.children_s)
        return max(0.0, used / max(self.time_s - before.time_s, 1e-9))


def record_plan(plan: Plan, out: Path, mark: str) -> tuple[int, str, float]:
    """Records the command; returns its status, what it printed, and the seconds it took."""
    env = {**os.environ, **(plan.env or {}), MARK_VARIABLE: mark}
    with tempfile.TemporaryFile() as caught:
        began = time.monotonic()
        with _stdout_to(caught.fileno()):
            try:
                status = live.record(Request(argv=tuple(plan.argv)), out, cwd=plan.cwd, env=env)
            except SystemExit as end:
                # A signal to us ends us (the undo session raises 128 + signal); the recorder's failure does not.
                if isinstance(end.code, int) and end.code > 128:
                    raise
                raise Problem("recorder-made-no-recording", code=end.code) from None
        seconds = time.monotonic() - began
        caught.seek(0)
        return status, caught.read().decode(errors="replace"), seconds


@contextlib.contextmanager
def _stdout_to(handle: int) -> Iterator[None]:
    """Children started inside write their standard output to `handle`."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(handle, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)
        os.close(own)


def _figures(plan: Plan, text: str) -> dict[str, Any]:
    if plan.printed is not None:
        return plan.printed(text)
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _difference(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Mapping[str, int | float]:
    if before is None or after is None:
        return {}
    return {
        key: value - before[key]
        for key, value in after.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
