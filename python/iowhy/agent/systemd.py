"""What a service reports to systemd (sd_notify(3)), if that asked for it."""

import os
import socket
import time
from contextlib import suppress


def notify(*assignments: str) -> None:
    """Sends it `READY=1` and the like; nobody else listens."""
    to = os.environ.get("NOTIFY_SOCKET")
    if not to:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        notifier.connect("\0" + to[1:] if to.startswith("@") else to)
        notifier.sendall("\n".join(assignments).encode())


def reloading() -> None:
    """The file is read again; `READY=1` ends it."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog_s() -> float | None:
    """Within which time it wants to hear that the service lives; None: it does not ask."""
    asked, of = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not asked.isdecimal() or int(asked) == 0 or of not in ("", str(os.getpid())):
        return None
    return int(asked) / 1e6
