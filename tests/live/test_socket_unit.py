"""The units of recorder/systemd under a systemd that runs, with all that they forbid: a container of this machine's own files."""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program

pytestmark = pytest.mark.usefixtures("live")

UNITS = Path(__file__).parents[2] / "recorder/systemd"
#: Of the unit, the recorder's needs; nspawn takes them from a container otherwise, and forbids these calls.
RIGHTS = re.findall(r"^AmbientCapabilities=(.*)$", (UNITS / "iowhy-record@.service").read_text(), re.M)[0].split()  # fmt: skip
TRY = """[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=60
ExecStart=/bin/sh /tried/try.sh
ExecStopPost=/bin/systemctl --no-block --force poweroff
"""
SCRIPT = """exec > /tried/said 2>&1
groupadd --system iowhy
useradd -G iowhy member
useradd other
mkdir -p /run/systemd/system/iowhy-record@.service.d
printf '[Service]\\nEnvironment=IOWHY_SECONDS=1\\n' > /run/systemd/system/iowhy-record@.service.d/short.conf
systemctl daemon-reload
systemctl start iowhy-record.socket
for user in other member; do {python} /tried/ask.py $user /tried/$user.tar; done
journalctl --no-pager -o cat
"""
ASK = """import os, pwd, socket, sys
user, out = pwd.getpwnam(sys.argv[1]), open(sys.argv[2], "wb")
os.initgroups(user.pw_name, user.pw_gid)
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
with socket.socket(socket.AF_UNIX) as end:
    try:
        end.connect("/run/iowhy-record.sock")
        while part := end.recv(65536):
            out.write(part)
    except PermissionError:
        out.write(b"refused")
"""
BOOT = """mount -t tmpfs tried "$0/mount" && mkdir "$0"/mount/{{upper,work,root}}
mount -t overlay -o lowerdir=/,upperdir="$0/mount/upper",workdir="$0/mount/work" tried "$0/mount/root"
exec timeout -k 5 90 systemd-nspawn -q --register=no --keep-unit -D "$0/mount/root" --machine=iowhy-tried --private-network \
  --capability={rights} --system-call-filter='bpf perf_event_open' --bind="$0:/tried" --bind-ro="$0/iowhy-record:/usr/bin/iowhy-record" \
  {units} --console=pipe --boot -- --unit=try.service < /dev/null
"""


def test_systemd_starts_it_for_members_of_the_group_alone_and_all_sensors_run(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if shutil.which("systemd-nspawn") is None:
        cannot_run(request, "needs systemd-nspawn: tools/setup test brings it")
    for name in ("iowhy-record.socket", "iowhy-record@.service"):
        shutil.copy(UNITS / name, tmp_path)
    shutil.copy(program(RECORDER), tmp_path / "iowhy-record")
    (tmp_path / "mount").mkdir()
    (tmp_path / "try.service").write_text(TRY)
    (tmp_path / "try.sh").write_text(SCRIPT.format(python=Path(sys.executable).resolve()))
    (tmp_path / "ask.py").write_text(ASK)
    bound = [f'--bind-ro="$0/{one.name}:/etc/systemd/system/{one.name}"' for one in (*tmp_path.glob("*.service"), *tmp_path.glob("*.socket"))]  # fmt: skip
    boot = BOOT.format(rights=",".join(RIGHTS), units=" ".join(bound))
    words = ["unshare", "--mount", "bash", "-ec", boot, tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    said = (tmp_path / "said").read_text() if (tmp_path / "said").exists() else done.stderr
    assert (tmp_path / "other.tar").read_bytes() == b"refused", said
    with tarfile.open(tmp_path / "member.tar") as archive:
        archive.extractall(tmp_path / "mine", filter="data")
    manifest = open_recording(tmp_path / "mine/machine.iowhy").manifest
    assert manifest.complete and manifest.source == "live" and manifest.command.mode == "machine"
    # A container has no /dev/kmsg.
    assert {one.name for one in manifest.sensors if not one.ran} <= {"kernel_log", "journal_xfs", "allocations_xfs", "allocations_btrfs"}, said  # fmt: skip
