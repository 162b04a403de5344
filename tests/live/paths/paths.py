"""Three paths of Python: what each waits in fsync is measured here and printed, as paths.c does.

python3 -X perf paths.py FILE
"""

import os
import sys
import time

FILE = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)


def sync_once() -> int:
    os.pwrite(FILE, b"x", 0)
    before = time.monotonic_ns()
    os.fsync(FILE)
    return time.monotonic_ns() - before


def until(ms: int) -> int:
    syncs, waited = 0, 0
    while syncs < 40 or waited < ms * 1_000_000:
        waited += sync_once()
        syncs += 1
    return waited


def path_of_a() -> int:
    return until(200) + 0


def path_of_b() -> int:
    return until(300) + 0


def path_of_c() -> int:
    return until(500) + 0


for path in (path_of_a, path_of_b, path_of_c):
    print(path.__name__, path(), 0)
