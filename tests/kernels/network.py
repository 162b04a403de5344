"""NFS over loopback: a server whose disk is known to be slow, a client that reads and writes, and what a recording says of it."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import Recording, open_recording
from iowhy.whys.verdict import judge

from .check import Check, of_relations, one

MEBIBYTE = 2**20
#: Each read of the server's disk takes this long at least (dm-delay).
DELAY_MS = 15
READS, BLOCK, FILE = 97, 8192, 8 * MEBIBYTE
WRITTEN = 2 * MEBIBYTE
_EVER = 2147483647
#: Far longer than the recordings of the silent mount and all deadlines together, on an emulated machine.
SILENT_MOST_S = 120
#: Within this time the recorder has started its command there.
STARTED_S = 90
#: Status of what had to be killed.
KILLED = 137
#: NFSEXP_FSID, NFSEXP_NOSUBTREECHECK, NFSEXP_INSECURE_PORT (include/uapi/linux/nfsd/export.h): the root of version 4.
_FLAGS = 0x2000 | 0x400 | 0x2

#: What the server's disk took at least. Two reads of one place are one of the disk.
DISK_NS = (
    f"{DELAY_MS * 1_000_000} * (SELECT count(*) FROM block_requests JOIN devices USING (dev)"
    " WHERE op = 'read' AND mapper_name = 'far')"
)


def script() -> str:
    """Starts the kernel's server without its programs: what mountd would answer (exports(5), nfsd(7)) is written beforehand."""
    channels = "".join(
        f"printf '%s\\n' '{line}' > /proc/net/rpc/{cache}/channel\n"
        for cache, line in {
            "auth.unix.ip": f"nfsd 127.0.0.1 {_EVER} all",
            "nfsd.export": f"all /srv {_EVER} {_FLAGS} 65534 65534 0",
            "nfsd.fh": rf"all 1 \x00000000 {_EVER} /srv",
        }.items()
    )
    return f"""
ifconfig lo 127.0.0.1 up
mkdir -p /srv /nfs
{slow_disk("/srv")}
dd if=/dev/zero of=/srv/file bs=64k count={FILE // 65536} conv=fsync 2> /dev/null
mount -t nfsd nfsd /proc/fs/nfsd
{channels}
echo "-2 -3 +4 +4.1 +4.2" > /proc/fs/nfsd/versions
echo 10 > /proc/fs/nfsd/nfsv4leasetime
echo 10 > /proc/fs/nfsd/nfsv4gracetime
echo "tcp 2049" > /proc/fs/nfsd/portlist
echo 4 > /proc/fs/nfsd/threads
echo Y > /proc/fs/nfsd/v4_end_grace
mount -t nfs4 -o vers=4.1,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ /nfs > /out/nfs.txt 2>&1
sync
echo 3 > /proc/sys/vm/drop_caches
cat /proc/self/mountstats > /out/mountstats-before
record nfs sh -c 'iowhy-work randread --file /nfs/file --reads {READS} --block {BLOCK} && \\
  iowhy-work seqwrite --file /nfs/new --bytes {WRITTEN} --block 64K --fsync'
cat /proc/self/mountstats > /out/mountstats-after
{_silence()}
umount /nfs
echo 0 > /proc/fs/nfsd/threads
{without_disk("/srv")}
"""


def _silence() -> str:
    """Stops the server under a reader of the hard mount, records while nobody answers, and starts it again."""
    ended = "echo $name $? $(($(date +%s) - began)) >> /out/silent.txt"
    recorded = "\n".join(
        f"""name={name}; began=$(date +%s)
timeout -k 5 -s INT {SILENT_MOST_S} iowhy-record {words} > /out/{name}.txt 2>&1; {ended}"""
        for name, words in {
            "silent-pid": "attach -o /out/silent-pid.iowhy --duration 3 --pid $reader",
            "silent-all": "machine -o /out/silent-all.iowhy --duration 3",
            "silent-proc": "machine --mode proc -o /out/silent-proc.iowhy --duration 3",
        }.items()
    )
    command = "iowhy-work randread --file /nfs/file --reads 9 --block 4096"
    return f"""echo 3 > /proc/sys/vm/drop_caches
iowhy-work randread --file /nfs/file --reads 100000 --block 4096 > /dev/null 2>&1 & reader=$!
sleep 2
echo 0 > /proc/fs/nfsd/threads
sleep 1
{recorded}
name=silent-run; began=$(date +%s)
timeout -k {SILENT_MOST_S} -s INT {STARTED_S} iowhy-record run -o /out/silent-run.iowhy -- {command} > /out/silent-run.txt 2>&1; {ended}
echo "tcp 2049" > /proc/fs/nfsd/portlist
echo 4 > /proc/fs/nfsd/threads
kill -9 $reader; wait"""


def slow_disk(folder: str) -> str:
    """Makes the server's disk, with a filesystem, there."""
    return f"""export DM_DISABLE_UDEV=1
dmsetup create far --table "0 80000 delay /dev/vde 0 {DELAY_MS} /dev/vde 0 0"
mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard /dev/mapper/far
mount -t ext4 -o noatime /dev/mapper/far {folder}"""


def without_disk(folder: str) -> str:
    """And takes it away."""
    return f"umount {folder}\ndmsetup remove far"


def checks(out: Path) -> Iterator[Check]:
    """Operations are those of mountstats, waits are the server's, and the verdict names it."""
    recording = open_recording(out / "nfs.iowhy")
    before, after = (_counted(out / f"mountstats-{when}") for when in ("before", "after"))
    for op in ("READ", "WRITE", "COMMIT"):
        counted = (
            "SELECT (operations, sent_bytes, received_bytes) FROM remote_operations"
            f" WHERE op = '{op}' AND mount = '/nfs'"
        )
        expected = tuple(now - then for now, then in zip(after[op], before[op], strict=True))
        found = of_relations(recording, counted)
        yield Check(f"{op}: operations and bytes as mountstats has them", found, expected)
    late = f"SELECT mean_rtt_ns * operations >= {DISK_NS} FROM remote_operations WHERE op = 'READ'"
    yield Check("READ takes as long as the server's disk", of_relations(recording, late), True)
    yield from _waits(recording)
    first = next((one.cause for one in judge(recording).findings), None)
    yield Check("what the verdict says first", first, "remote-storage")
    yield Check("lost of nfs", recording.manifest.lost(), 0)
    yield from _silent(out)


def _silent(out: Path) -> Iterator[Check]:
    """Nothing waits for the server, and what does not answer has a name."""
    for line in (out / "silent.txt").read_text().splitlines():
        name, status, _ = line.split()
        silent = open_recording(out / f"{name}.iowhy")
        yield Check(f"{name} ends in time", int(status) != KILLED, True)
        yield Check(f"{name} is complete", silent.manifest.complete, True)
        if name == "silent-proc":  # which does not see what a thread waits for
            continue
        noted = any(note.startswith("/nfs (nfs4) did not answer") for note in silent.manifest.notes)
        yield Check(f"{name}: the mount is named", noted, True)
        first = next(iter(judge(silent).findings), None)
        said = first is not None and first.comes_first and "/nfs" in first.summary
        yield Check(f"{name}: the verdict names it", said, True)


def _waits(recording: Recording) -> Iterator[Check]:
    """The reads' waits are told as the server's, and no device's."""
    served = (
        f"SELECT sum(total_ns) >= {DISK_NS} FROM served_waits w JOIN served_filesystems f USING (dev)"
        " WHERE syscall LIKE 'pread%' AND mount = '/nfs' AND w.served_by = 'server'"
    )
    yield Check("reads wait for the server", of_relations(recording, served), True)
    read = "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64' AND dev = (SELECT dev FROM filesystems WHERE mount = '/nfs')"
    yield Check("calls and bytes of reads", one(recording, read), (READS, READS * BLOCK))


def _counted(file: Path) -> dict[str, tuple[int, int, int]]:
    """Operations, bytes sent and bytes received by kind, of the one NFS mount."""
    counted = {}
    for line in file.read_text().split("per-op statistics")[1].splitlines():
        words = line.split()
        if len(words) > 8:
            counted[words[0].rstrip(":")] = (int(words[1]), int(words[4]), int(words[5]))
    return counted
