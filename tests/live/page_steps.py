"""Run by test_page_counts.py, recorded: does steps to files, each in a process of its own.

The first argument is a JSON list of steps, [path, what, pages, advice, bytes at a time] each; the second
the file that takes what the kernel itself says of each of them, a line of JSON each.
"""

import ctypes
import json
import mmap
import os
import resource
import sys

PAGE = 4096
CACHESTAT = 451  # the call's number, since Linux 6.5
#: Bits of an entry of /proc/kpageflags: head and tail of a compound page (a large folio).
COMPOUND = 0b11 << 15

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def ranges(pages, size):
    return ((at, min(size, pages * PAGE - at)) for at in range(0, pages * PAGE, size))


def access(fd, what, pages, advice, size):
    """Reads, maps, prefetches or drops the pages; the faults that getrusage(2) counts for it."""
    if advice == "random":
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    memory = mmap.mmap(fd, pages * PAGE, mmap.MAP_SHARED, mmap.PROT_READ) if what == "map" else None
    if memory and advice == "random":
        memory.madvise(mmap.MADV_RANDOM)
    before = resource.getrusage(resource.RUSAGE_SELF)
    if what == "read":
        for at, length in ranges(pages, size):
            assert len(os.pread(fd, length, at)) == length
    elif what == "map":
        for number in range(pages):
            memory[number * PAGE]
    elif what == "prefetch":
        for at, length in ranges(pages, size):
            os.posix_fadvise(fd, at, length, os.POSIX_FADV_WILLNEED)
    elif what == "drop":
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "major": after.ru_majflt - before.ru_majflt,
        "minor": after.ru_minflt - before.ru_minflt,
    }


def mapped(fd, pages):
    start = libc.mmap(None, pages * PAGE, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    # What others have evicted comes back alone when it is looked at, as it was.
    assert (
        libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(pages * PAGE), mmap.MADV_RANDOM) == 0
    )
    return start


def resident(fd, pages):
    """How many of the pages are there, by mincore(2) and by cachestat(2)."""
    vector = (ctypes.c_ubyte * pages)()
    start = mapped(fd, pages)
    assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(pages * PAGE), vector) == 0
    of, found = (ctypes.c_uint64 * 2)(0, pages * PAGE), (ctypes.c_uint64 * 5)()
    by_cachestat = found[0] if libc.syscall(CACHESTAT, fd, of, found, 0) == 0 else None
    return {"mincore": sum(bytes(vector)), "cachestat": by_cachestat}


def folios(fd, pages):
    """How many of some pages lie alone, and how many in large folios."""
    start = mapped(fd, pages)
    pagemap = os.open("/proc/self/pagemap", os.O_RDONLY)
    flags = os.open("/proc/kpageflags", os.O_RDONLY)
    counts = {"one": 0, "large": 0}
    for number in range(0, pages, 1 + pages // 5000):
        ctypes.c_ubyte.from_address(start + number * PAGE).value  # noqa: B018 - brings the page in
        (entry,) = memoryview(os.pread(pagemap, 8, (start // PAGE + number) * 8)).cast("Q")
        (bits,) = memoryview(os.pread(flags, 8, (entry & (1 << 55) - 1) * 8)).cast("Q")
        counts["large" if bits & COMPOUND else "one"] += 1
    return counts


def step(fd, what, pages, advice, size):
    if what == "resident":
        return resident(fd, pages)
    if what == "folios":
        return folios(fd, pages)
    return access(fd, what, pages, advice, size)


def main():
    steps = json.loads(sys.argv[1])
    # Held open throughout, so that the kernel forgets none of them between two steps.
    files = {path: os.open(path, os.O_RDONLY) for path, *_ in steps}
    with open(sys.argv[2], "w") as answers:  # noqa: PTH123 - nothing more is imported
        for path, *what in steps:
            reading, writing = os.pipe()
            pid = os.fork()
            if not pid:
                # Its own open file: advice holds for that.
                fd = os.open(f"/proc/self/fd/{files[path]}", os.O_RDONLY)
                answer = {"pid": os.getpid(), **step(fd, *what)}
                os.write(writing, json.dumps(answer).encode())
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            print(os.read(reading, 4096).decode(), file=answers)
            os.close(reading)
            os.close(writing)


main()
