"""Runs trials for real: applies the lever, prepares, sets the cache, runs, measures, puts back."""

import ctypes
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.experiments import cache, groups, left_behind, load
from iowhy.experiments.command import Ended, Place, run, shown
from iowhy.experiments.condition import BASELINE, Condition, LevelFailed, Trial
from iowhy.experiments.device import device_of
from iowhy.experiments.in_child import InChild, enter_group
from iowhy.experiments.job import Job
from iowhy.experiments.lever import Effect, Lever
from iowhy.experiments.levers import levers
from iowhy.experiments.setting import Profile, Setting
from iowhy.undo import Undo


class LiveExecutor(Struct):
    """The executor of real trials."""

    job: Job
    setting: Setting
    undo: Undo
    commands: dict[Condition, Sequence[str]] = field(default_factory=dict)
    known: Mapping[str, Lever] = field(default_factory=levers)
    #: Of each command that ended well once: what it left behind then.
    _left: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def run(self, condition: Condition) -> Trial:
        """One trial. Problem when the command fails without a lever, LevelFailed when under one."""
        try:
            return self._run(condition)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Problem(
                "trial-not-started", name=condition.name, where=where, error=error.strerror or error
            ) from None

    def _run(self, condition: Condition) -> Trial:
        lever = None if condition.lever is None else self.known.get(condition.lever)
        applied = (
            nullcontext(Effect())
            if lever is None or condition.level is None
            else lever.apply(condition.level, self.setting)
        )
        with applied as effect:
            directory = effect.directory or self.job.directory
            around = Place(directory, effect.everywhere, user=self.job.user)
            for line in self.job.prepare:
                self._helper("--prepare", line, around)
            self._prepare_cache(effect)
            trial = self._measured(condition, effect, directory)
            for line in self.job.conclude:
                self._helper("--conclude", line, around)
        return trial

    def _prepare_cache(self, effect: Effect) -> None:
        # What an earlier trial or --prepare left dirty must not be written back during this one.
        _settle(self.setting.directory)
        if effect.files_at is not None:
            _settle(effect.files_at)
        state = effect.cache or self.job.cache
        cache.set_state(state, cache.files_of(self.setting, effect.files_at))

    def _measured(self, condition: Condition, effect: Effect, directory: Path) -> Trial:
        """The command alone, between two readings of the device and of what others do."""
        inside = Place(
            directory, effect.everywhere + effect.in_child, effect.environment, self.job.user
        )
        device = (effect.files_at and device_of(effect.files_at)) or self.setting.device
        before = load.read()
        moved = None if device is None else device.transferred_bytes()
        began = time.monotonic()
        command = effect.argv or self.commands.get(condition, self.job.command)
        there = self._look(command, directory)
        ended = run(
            command,
            inside,
            self.undo,
            timeout_s=self.job.timeout_s,
            capture=self.job.metric is not None,
            show=self.job.show_output,
            input_file=self.job.input_file,
        )
        middle_s = (began + time.monotonic()) / 2
        moved_after = None if device is None else device.transferred_bytes()
        reached = dict(effect.after(ended.wall_s))
        own_bytes = ended.read_bytes + ended.written_bytes + effect.own_disk_bytes()
        others = load.others(before, load.read(), own_bytes)
        self._check(condition, command, ended)
        self._note_left(command, there)
        metric = self.job.metric
        return Trial(
            condition=condition,
            measure=ended.wall_s if metric is None else metric.read(ended.output),
            middle_s=middle_s,
            wall_s=ended.wall_s,
            user_s=ended.user_s,
            system_s=ended.system_s,
            device_bytes=None if moved is None or moved_after is None else moved_after - moved,
            peak_rss_bytes=ended.peak_rss_bytes,
            status=ended.status,
            factor=reached.pop("factor", None),
            reached=reached,
            others=others,
        )

    def profiled(self, warmup: int, step: Callable[[str], None]) -> float:
        """Sets up, warms up and profiles; seconds of a run with its reset."""
        step("--setup" if self.job.setup else "warming up")
        self.once("--setup", self.job.setup)
        for _ in range(warmup):
            self.run(BASELINE)
        step("profiling the command")
        began_s = time.monotonic()
        self.setting.profile = self.profile()
        return time.monotonic() - began_s

    def profile(self) -> Profile:
        """Runs the command once without a lever, in a group that measures its memory if possible."""
        plain = Place(self.job.directory, user=self.job.user)
        hooks: tuple[InChild, ...] = ()
        group: groups.Group | None = None
        heaps: list[int] = []
        with self.undo.scope():
            if not isinstance(groups.find("memory"), str):
                try:
                    group = groups.make("memory", "profile", self.undo)
                    hooks = (enter_group(group.procs),)
                except Problem:
                    group = None
            for line in self.job.prepare:
                self._helper("--prepare", line, plain)
            cache.set_state(self.job.cache, cache.files_of(self.setting))
            there = self._look(self.job.command, plain.directory)
            ended = run(
                self.job.command,
                replace(plain, in_child=hooks),
                self.undo,
                timeout_s=self.job.timeout_s,
                capture=self.job.metric is not None,
                input_file=self.job.input_file,
                watch=lambda: heaps.append(0 if group is None else _heap(group)),
            )
            self._check(BASELINE, self.job.command, ended)
            self._note_left(self.job.command, there)
            if self.job.metric is not None:
                self.job.metric.read(ended.output)
            peak = None if group is None else _peak(group)
            for line in self.job.conclude:
                self._helper("--conclude", line, plain)
        heap = max(heaps, default=0) if group is not None else None
        return Profile(ended.wall_s, ended.user_s + ended.system_s, peak, heap)

    def once(self, flag: str, line: str | None) -> None:
        """Runs --setup or --cleanup."""
        if line is not None:
            self._helper(flag, line, Place(self.job.directory, user=self.job.user))

    def _helper(self, flag: str, line: str, place: Place) -> None:
        ended = run(["sh", "-c", line], place, self.undo, capture=True, leave_children=True)
        if ended.status != 0:
            last = " ".join(ended.output.strip().splitlines()[-2:])
            raise Problem(
                "helper-failed", flag=flag, line=line, status=ended.status, last=last[:300]
            )

    def _look(self, command: Sequence[str], directory: Path) -> left_behind.Before | None:
        """What is there before a command runs for the first time."""
        return None if tuple(command) in self._left else left_behind.look(command, directory)

    def _note_left(self, command: Sequence[str], there: left_behind.Before | None) -> None:
        if there is not None:
            self._left[tuple(command)] = left_behind.left(there)

    def _check(self, condition: Condition, command: Sequence[str], ended: Ended) -> None:
        if ended.status is None:
            why = f"did not end within {self.job.timeout_s:g} s (--timeout)"
        elif ended.status != 0 and not self.job.ignore_failure:
            why = f"exit status {ended.status}"
        else:
            return
        if condition.lever is not None and condition not in self.commands:
            raise LevelFailed("command-failed", why=why)
        made = self._left.get(tuple(command))
        if ended.status is not None and made is not None:
            why += f" when it was run again; {left_behind.advice(made)}"
        hint = "" if ended.status is None else "; --ignore-failure measures it all the same"
        raise Problem("failed-command", command=shown(command), why=why, hint=hint)


def _settle(directory: Path) -> None:
    """Writes back what is dirty on the command's filesystem (syncfs(2))."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        ctypes.CDLL(None).syncfs(handle)
    finally:
        os.close(handle)


def _peak(group: groups.Group) -> int | None:
    knob = "memory.peak" if group.version == 2 else "memory.max_usage_in_bytes"
    text = group.read(knob)
    return int(text) if text and text.strip().isdigit() else None


def _heap(group: groups.Group) -> int:
    """Memory of the group's processes that is not page cache (`anon` in v2, `rss` in v1)."""
    wanted = "anon" if group.version == 2 else "rss"
    for line in (group.read("memory.stat") or "").splitlines():
        key, _, value = line.partition(" ")
        if key == wanted:
            return int(value)
    return 0
