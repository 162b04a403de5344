"""The doctor on this machine, with rights taken away for real."""

import json
import subprocess
import sys

import pytest

from iowhy.relations.facts import SENSORS

pytestmark = pytest.mark.usefixtures("live")

DOCTOR = [sys.executable, "-m", "iowhy", "doctor", "--json"]

# Puts a filter on bpf(2) that gives EPERM, as Docker's profile does, and becomes the command: seccomp(2),
# struct sock_filter of include/uapi/linux/filter.h, number 321 of x86-64's and 280 of arm64's call table.
NO_BPF = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
words = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *word) for word in words))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(words), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""

# Where the tests lie may be root's alone: another user still gets to read it.
READS = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def found(*before: str) -> dict[str, object]:
    done = subprocess.run(
        [*before, *DOCTOR], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == "" and done.returncode in (0, 1), done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    assert answer["ok"] is (done.returncode == 0)
    return answer


def test_as_root_all_that_a_recording_has_is_there() -> None:
    answer = found()
    assert answer["ok"]
    sensors = answer["sensors"]
    assert isinstance(sensors, list)
    assert {one["name"] for one in sensors} <= set(SENSORS)
    assert next(one for one in sensors if one["name"] == "syscalls")["ran"]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (("setpriv", "--reuid=65534", "--clear-groups", *READS), "only root"),
        (("setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin"), "lacks CAP_BPF"),
        (("setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-perfmon,-sys_admin"), "CAP_PERFMON"),
        (("unshare", "-U", "-r"), "user namespace"),
        ((sys.executable, "-c", NO_BPF), "seccomp"),
    ],
    ids=["not root", "no bpf", "no perfmon", "user namespace", "seccomp"],
)  # fmt: skip
def test_what_is_taken_away_is_what_is_named(before: tuple[str, ...], said: str) -> None:
    answer = found(*before)
    assert not answer["ok"] and said in str(answer["answer"])


def test_two_capabilities_are_enough() -> None:
    kept = "-sys_admin"
    assert found("setpriv", f"--bounding-set={kept}", f"--inh-caps={kept}")["ok"]
