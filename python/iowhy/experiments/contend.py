"""A background writer at a given rate. its own program: run as a file, without this package.

    contend.py FILE SIZE_BYTES BYTES_PER_S PARENT_PID

Writes 256 KiB blocks directly, in order, around a file that exists; on SIGTERM prints
`BYTES SECONDS` and ends. It dies with its parent.
"""

import ctypes
import mmap
import os
import signal
import sys
import time


def main() -> None:
    """See the module's text."""
    path, size, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(sys.argv[4]):
        return  # it died before
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stop.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    block = mmap.mmap(-1, 256 << 10)
    handle = os.open(path, os.O_WRONLY | os.O_DIRECT)
    done, offset = 0, 0
    print("ready", flush=True)
    began = time.monotonic()
    while not stop:
        # What the device could not take is not made up for later: that would be a burst.
        ahead = done / rate - (time.monotonic() - began)
        if ahead < -0.5:
            began += -ahead - 0.5
        if ahead > 0:
            time.sleep(min(ahead, 0.05))
            continue
        done += os.pwrite(handle, block, offset)
        offset = (offset + len(block)) % (size - len(block) + 1) // len(block) * len(block)
    print(done, time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main()
