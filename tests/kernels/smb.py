"""SMB over loopback: a server whose disk is known to be slow, a client that reads and writes, and what a recording says of it."""

import re
from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import open_recording
from iowhy.whys.verdict import judge

from .check import Check, of_relations, one
from .network import DISK_NS, slow_disk, without_disk

MEBIBYTE = 2**20
READS, BLOCK, FILE = 97, 8192, 8 * MEBIBYTE
WRITTEN = 2 * MEBIBYTE
PACKAGES = Path(__file__).parents[2] / "target/packages"
#: The kernel's server has the program that answers it for users and shares in a package, unpacked (tools/setup test-kernels).
SERVER = PACKAGES / "ksmbd-tools/usr/libexec/ksmbd.tools"
_CONFIGURATION = """[global]
server string = iowhy
netbios name = IOWHY
map to guest = never
[far]
path = /smb-served
read only = no
"""


def programs() -> list[Path]:
    """What the guest needs of it, libraries too, which lie beside it there."""
    return [SERVER, *PACKAGES.glob("libnl-*/lib/*/*.so.200")] if SERVER.exists() else []


def script() -> str:
    """Kernels without a server that works leave nothing of it: there is none before 5.15, that of 6.1 faults on the first
    file, and that of Ubuntu's 6.8 does not know the share that this program names."""
    return f"""
case $(uname -r) in 5.* | 6.1.*) server= ;; *) server=/sys/module/ksmbd ;; esac
if [ -e /bin/ksmbd.tools ] && [ -d "$server" ]; then
mkdir -p /smb-served /smb /etc/ksmbd /run
ln -s ksmbd.tools /bin/ksmbd.mountd
ln -s ksmbd.tools /bin/ksmbd.adduser
printf '%s' '{_CONFIGURATION}' > /etc/ksmbd/ksmbd.conf
ifconfig lo 127.0.0.1 up
{slow_disk("/smb-served")}
chmod 777 /smb-served
dd if=/dev/zero of=/smb-served/file bs=64k count={FILE // 65536} conv=fsync 2> /dev/null
LD_LIBRARY_PATH=/bin ksmbd.adduser -a iowhy -p iowhy > /out/smb.txt 2>&1
LD_LIBRARY_PATH=/bin ksmbd.mountd -n > /out/mountd.txt 2>&1 &
for i in $(seq 100); do netstat -lnt | grep -q ':445 ' && break; sleep 0.1; done
if mount -t cifs -o ip=127.0.0.1,unc='\\\\127.0.0.1\\far',user=iowhy,password=iowhy,vers=3.1.1 //127.0.0.1/far /smb >> /out/smb.txt 2>&1; then
sync
echo 3 > /proc/sys/vm/drop_caches
record smb sh -c 'iowhy-work randread --file /smb/file --reads {READS} --block {BLOCK} && \\
  iowhy-work seqwrite --file /smb/new --bytes {WRITTEN} --block 64K --fsync'
cat /proc/fs/cifs/Stats > /out/smb-counted
umount /smb
fi
echo hard > /sys/class/ksmbd-control/kill_server
sleep 1
{without_disk("/smb-served")}
fi
"""


def checks(out: Path) -> Iterator[Check]:
    """Calls and bytes are those of the program, the waits are the server's, and the verdict names it."""
    place = out / "smb.iowhy"
    if not place.exists():
        return
    recording = open_recording(place)
    read = (
        "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64'"
        " AND dev = (SELECT dev FROM filesystems WHERE kind = 'cifs' AND mount = '/smb')"
    )
    yield Check("calls and bytes of reads of SMB", one(recording, read), (READS, READS * BLOCK))
    counted = re.search(
        r"Bytes read: (\d+) +Bytes written: (\d+)", (out / "smb-counted").read_text()
    )
    moved = tuple(int(number) for number in counted.groups()) if counted else None
    yield Check("bytes that the client counts", moved, (READS * BLOCK, WRITTEN))
    waited = (
        "SELECT count(*) > 0, count(*) FILTER (WHERE reason <> 'network_filesystem') FROM waits"
        " WHERE syscall = 'pread64' AND reason IS NOT NULL"
    )
    yield Check("waits for SMB's server and for others", one(recording, waited), (True, 0))
    served = (
        f"SELECT sum(total_ns) >= {DISK_NS} FROM served_waits w JOIN served_filesystems f USING (dev)"
        " WHERE syscall LIKE 'pread%' AND mount = '/smb' AND w.served_by = 'server'"
    )
    yield Check("reads wait for SMB's server", of_relations(recording, served), True)
    first = next((one.cause for one in judge(recording).findings), None)
    yield Check("what the verdict says first of SMB", first, "remote-storage")
    yield Check("lost of SMB", recording.manifest.lost(), 0)
