"""A part of the device taken away: a background writer on the command's filesystem."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from iowhy.errors import Problem
from iowhy.experiments import contend
from iowhy.experiments.device import open_direct
from iowhy.experiments.lever import Effect, Level, Lever, percent
from iowhy.experiments.setting import Setting
from iowhy.quantities import share
from iowhy.undo import MARK_VARIABLE

_FILE_BYTES = 64 << 20


class IoContention(Lever, frozen=True):
    """A level of 0.3 writes at 30 % of the rate that the device showed at its best.

    What the writer reached is measured in every trial and is what counts: a device under the command's
    load may not leave it its share. Writes go past the page cache into a file of ours.
    """

    name: str = "io-contention"
    resource: str = "the disk"
    bound: str = "disk"
    needs: str = "a work directory on a block device with direct I/O"

    def refusal(self, setting: Setting) -> str | None:
        """Memory filesystems have no device to contend for."""
        if setting.device is None:
            return f"{setting.directory} is not on a block device"
        if not os.access(setting.directory, os.W_OK):
            return f"may not write to {setting.directory}"
        return None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:  # noqa: ARG002
        """Shares of the device's best that are taken away."""
        values = [share(self.name, text) for text in asked] or [0.3]
        return tuple(Level(f"{percent(v)} taken", str(v), 1 - v) for v in values)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Starts the writer before the trial and stops it after."""
        best = setting.best()
        rate = best.bytes_per_s * float(level.key)
        size = int(min(_FILE_BYTES, max(1 << 20, best.bytes_per_s)) // (1 << 20) * (1 << 20))
        with setting.undo.scope():
            place = (
                setting.undo.scratch_directory(setting.directory.parent, ".iowhy")
                if _same(setting)
                else setting.undo.scratch_directory(setting.directory, ".iowhy")
            )
            os.close(open_direct(place / "contention", size))
            _, mark = setting.undo.kill_marked()
            writer = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    contend.__file__,
                    str(place / "contention"),
                    str(size),
                    str(rate),
                    str(os.getpid()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, MARK_VARIABLE: mark},
                start_new_session=True,
            )
            ended: dict[str, float] = {}

            def after(_wall_s: float) -> Mapping[str, float]:
                if not ended:
                    ended.update(_stop(writer))
                if not ended:
                    return {}
                reached = ended["bytes"] / max(ended["seconds"], 1e-3)
                taken = min(0.99, reached / best.bytes_per_s)
                return {"contention_bytes_per_s": reached, "factor": 1 - taken}

            try:
                if writer.stdout is None or writer.stdout.readline() != b"ready\n":
                    raise Problem("io-contention-did-not-start")
                # Let it settle: its first blocks find an idle device.
                time.sleep(0.1)
                yield Effect(
                    after=after,
                    own_disk_bytes=lambda: int(ended.get("bytes", 0)),
                )
            finally:
                if not ended:
                    writer.kill()
                    writer.communicate()


def _same(setting: Setting) -> bool:
    """Whether the parent of the work directory can hold the writer's file, out of the command's way."""
    parent = setting.directory.parent
    return parent.stat().st_dev == setting.directory.stat().st_dev and os.access(parent, os.W_OK)


def _stop(writer: "subprocess.Popen[bytes]") -> dict[str, float]:
    writer.terminate()
    try:
        output, _ = writer.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        writer.kill()
        output, _ = writer.communicate()
    words = output.split()
    if len(words) != 2:
        return {}
    return {"bytes": float(words[0]), "seconds": float(words[1])}


LEVER = IoContention()
