"""How much of the time GPUs compute, by NVIDIA's own library (NVML): read by another process, as a driver may hang.

It reads until its stdin ends, and then answers on stdout, where a blank says that it has begun. Without a GPU's driver no process is started and no library loaded.
"""

import ctypes
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

#: Where the library is not found by its name: its path, by this variable.
VARIABLE = "IOWHY_NVML"
_LIBRARY = "libnvidia-ml.so.1"
#: The driver's devices, of Linux and of its subsystem in Windows.
_DEVICES = ("/dev/nvidiactl", "/dev/dxg")
PER_SECOND = 5
MOST_ROWS = 200_000
#: At the end, what the process has to answer.
ANSWER_S = 3.0


def there() -> bool:
    """Whether there may be one."""
    return VARIABLE in os.environ or any(map(os.path.exists, _DEVICES))


class Sampling:
    """GPUs are read from now on, until `ended`; none if there is none."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Sampling":
        if there():
            command = [sys.executable, "-m", "iowhy.sources.gpus"]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def ended(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Rows of gpu_samples, and what the manifest says of it."""
        if self.process is None:
            return [], ()
        try:
            answered, _ = self.process.communicate(timeout=ANSWER_S)
            told = json.loads(answered)
        except (subprocess.TimeoutExpired, ValueError, OSError):
            told = {"error": "it did not answer"}
        error = told.get("error")
        return told.get("rows", []), () if error is None else (f"GPUs were not read: {error}",)


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t, of nvmlDeviceGetComputeRunningProcesses_v3."""

    _fields_ = (
        ("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint),
    )  # fmt: skip


class Refused(Exception):
    """What the library answered, in its words."""


class Nvml:
    """The library, and the devices that it has."""

    def __init__(self) -> None:
        self._of = ctypes.CDLL(os.environ.get(VARIABLE) or _LIBRARY)
        self._of.nvmlErrorString.restype = ctypes.c_char_p
        self._call("nvmlInit_v2")
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        self.devices = [self._device(number) for number in range(count.value)]

    def _call(self, name: str, *words: Any, fine: tuple[int, ...] = ()) -> int:
        status = int(getattr(self._of, name)(*words))
        if status and status not in fine:
            raise Refused(self._of.nvmlErrorString(status).decode("utf-8", "replace"))
        return status

    def _device(self, number: int) -> tuple[str, ctypes.c_void_p]:
        handle, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(number), ctypes.byref(handle))
        self._call("nvmlDeviceGetName", handle, name, ctypes.c_uint(len(name)))
        return name.value.decode("utf-8", "replace"), handle

    def busy(self, device: ctypes.c_void_p) -> float:
        """The share of the library's last period (a sixth of a second to one) in which any kernel ran there."""
        found = _Utilization()
        self._call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(found))
        return min(100, int(found.gpu)) / 100

    def users(self, device: ctypes.c_void_p) -> list[int]:
        """Processes that have a context there; empty if it is not known."""
        count, found = ctypes.c_uint(64), (_Process * 64)()
        try:
            self._call(
                "nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count), found
            )
        except (Refused, AttributeError):
            return []
        return [one.pid for one in found[: count.value]]


def readings(nvml: Nvml, since_ns: int) -> Iterator[dict[str, Any]]:
    """A row for each device and process that uses it, on the clock of recordings."""
    for number, (name, device) in enumerate(nvml.devices):
        with suppress(Refused):
            at, busy = time.monotonic_ns(), nvml.busy(device)
            for tgid in tuple(nvml.users(device)) or (None,):
                yield {
                    "ts_ns": at, "interval_ns": at - since_ns, "gpu": number, "name": name, "tgid": tgid, "busy_share": busy,
                }  # fmt: skip


def main() -> None:
    """Reads until stdin ends."""
    told: dict[str, Any] = {"rows": []}
    try:
        nvml, since, begun = Nvml(), time.monotonic_ns(), 0
        while not select.select([0], [], [], 1 / PER_SECOND)[0]:
            told["rows"] += readings(nvml, since)
            begun = begun or os.write(1, b" ")
            since = time.monotonic_ns()
            del told["rows"][MOST_ROWS:]
    except (OSError, AttributeError, Refused) as error:
        told["error"] = str(error)
    with suppress(OSError):
        sys.stdin.buffer.read()
        sys.stdout.write(json.dumps(told))
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
