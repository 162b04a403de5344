"""A filesystem in user space that has any name one asks for, as a file of zeros, and lets nothing be kept: each answer takes its time.

python fuse_names.py DIRECTORY MILLISECONDS [cached|ahead|locks]: mounts itself there (as root), prints a line, and answers until it is
unmounted. `cached`: what is read stays in memory; `ahead`: and the kernel may ask for more than one page range at once (FUSE_ASYNC_READ);
`locks`: it is asked for locks, which the kernel keeps by itself else. After SIGUSR1 it takes requests and answers none: who asks waits until it is
killed. The layout of what is asked and answered is that of include/uapi/linux/fuse.h, version 7.31.
"""

import ctypes
import errno
import os
import signal
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, UNLINK, INIT, BATCH_FORGET, INTERRUPT = 1, 2, 3, 10, 26, 42, 36
OPEN, READ, FLUSH, COPY = 14, 15, 25, 47
SETATTR, STATFS, SETXATTR, GETXATTR = 4, 17, 21, 22
SET_LOCK, SET_LOCK_AND_WAIT, IOCTL, SEEK = 32, 33, 39, 46
ON_FILES = (SET_LOCK, SET_LOCK_AND_WAIT, IOCTL, SEEK)
SLOW = (LOOKUP, GETATTR, SETATTR, UNLINK, READ, FLUSH, COPY, STATFS, SETXATTR, GETXATTR, *ON_FILES)
DIRECT_IO, ASYNC_READ, POSIX_LOCKS, FILE_LOCKS = 1, 1, 1 << 1, 1 << 10
MODES = {"ahead": ASYNC_READ, "locks": POSIX_LOCKS | FILE_LOCKS}
SIZE = 1 << 20
IN_HEADER = struct.Struct("<IIQQIIII")
OUT_HEADER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<6Q3I7I")
FILE, DIRECTORY = 0o100644, 0o040755
ROOT = 1


def attributes(node: int) -> bytes:
    """Of the root, a directory, or of any other node, a file."""
    mode = DIRECTORY if node == ROOT else FILE
    size = 0 if node == ROOT else SIZE
    return ATTRIBUTES.pack(node, size, *[0] * 4, *[0] * 3, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode: int, node: int, asked: bytes, mode: str) -> tuple[int, bytes]:
    """An error and what is said besides."""
    if opcode == INIT:
        return 0, struct.pack(
            "<4I2H2I2HI28x", 7, 31, 65536, MODES.get(mode, 0), 8, 8, 65536, 1, 0, 0, 0
        )
    if opcode == LOOKUP:
        found = 2 + sum(asked.rstrip(b"\0"))
        return 0, struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + attributes(found)
    if opcode in (GETATTR, SETATTR):
        return 0, struct.pack("<Q2I", 0, 0, 0) + attributes(node)
    if opcode == OPEN:
        return 0, struct.pack("<Q2I", 0, 0 if mode in ("cached", "ahead") else DIRECT_IO, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("<2QI", asked)
        return 0, bytes(max(0, min(size, SIZE - offset)))
    if opcode == COPY:
        *_, length, _flags = struct.unpack_from("<7Q", asked)
        return 0, struct.pack("<2I", length, 0)
    if opcode == STATFS:
        return 0, struct.pack(
            "<5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 1 << 10, 1 << 9, 4096, 255, 4096, 0
        )
    if opcode == GETXATTR:
        return 0, struct.pack("<2I", 16, 0)
    if opcode == IOCTL:
        return 0, bytes(16)
    if opcode == SEEK:
        return 0, asked[8:16]
    return (0 if opcode in (UNLINK, *ON_FILES, FLUSH, SETXATTR) else -errno.ENOSYS), b""


def main(directory: str, milliseconds: float, mode: str = "") -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"names", directory.encode(), b"fuse.names", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    answers = [True]
    signal.signal(signal.SIGUSR1, lambda *_: answers.clear())
    print("mounted", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            if error.errno in (errno.ENOENT, errno.EINTR):
                continue
            raise
        _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT) or not answers:
            continue
        if opcode in SLOW:
            time.sleep(milliseconds / 1000)
        error, said = answer(opcode, node, request[IN_HEADER.size :], mode)
        os.write(device, OUT_HEADER.pack(OUT_HEADER.size + len(said), error, unique) + said)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:])
