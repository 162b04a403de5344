"""GPUs, by a library with NVML's entry points: no machine of the project's has one."""

import subprocess
import time
from pathlib import Path

import pytest

from iowhy.commands import record
from iowhy.recordings import open_recording
from iowhy.relations import Relations
from iowhy.sources import gpus
from iowhy.sources.request import Request
from tests.whys.made import Story

#: The signatures of nvml.h; device 0 is used by processes 10 and 11 at 38 %, device 1 by nobody.
LIBRARY = """
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute_instance; } process;
int nvmlInit_v2(void) { return INIT; }
const char *nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(index + 0x100000001UL); return 0; }
int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
	const char *is = device == (void *)0x100000001UL ? "H200" : "T4";
	while ((*name++ = *is++)) ;
	return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, utilization *found)
{
	found->gpu = device == (void *)0x100000001UL ? 38 : 0;
	found->memory = 99;
	return 0;
}
#ifdef USERS
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *found)
{
	if (*count < 2) return 7;
	*count = device == (void *)0x100000001UL ? 2 : 0;
	found[0] = (process){ .pid = 10, .used = 1 << 30 };
	found[1] = (process){ .pid = 11, .used = 1 << 30 };
	return 0;
}
#endif
"""


def library(folder: Path, *flags: str) -> str:
    """It, compiled."""
    made = folder / "libnvidia-ml.so.1"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-o", str(made), *flags, "-"]
    subprocess.run(command, input=LIBRARY, text=True, check=True)
    return str(made)


def read_rows(nvml: gpus.Nvml) -> set[tuple[object, ...]]:
    rows = gpus.readings(nvml, 0)
    return {(one["gpu"], one["name"], one["tgid"], one["busy_share"]) for one in rows}


def test_each_device_and_who_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VARIABLE, library(tmp_path, "-DINIT=0", "-DUSERS"))
    found = read_rows(gpus.Nvml())
    assert found == {(0, "H200", 10, 0.38), (0, "H200", 11, 0.38), (1, "T4", None, 0.0)}


def test_an_older_library_does_not_say_who(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VARIABLE, library(tmp_path, "-DINIT=0"))
    assert read_rows(gpus.Nvml()) == {(0, "H200", None, 0.38), (1, "T4", None, 0.0)}


def test_a_process_of_its_own_reads_until_it_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(gpus.VARIABLE, library(tmp_path, "-DINIT=0", "-DUSERS"))
    began = time.monotonic_ns()
    with gpus.Sampling() as sampling:
        assert sampling.process is not None and sampling.process.stdout is not None
        sampling.process.stdout.read(1)  # a blank after the first reading
        rows, notes = sampling.ended()
    assert not notes and {one["tgid"] for one in rows} == {10, 11, None}
    assert all(one["ts_ns"] - one["interval_ns"] >= began for one in rows)


@pytest.mark.parametrize(
    ("flags", "said"), [(("-DINIT=9",), "Driver Not Loaded"), (None, "cannot open")]
)
def test_one_that_cannot_be_read_is_noted(
    flags: tuple[str, ...] | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "none") if flags is None else library(tmp_path, *flags)
    monkeypatch.setenv(gpus.VARIABLE, path)
    with gpus.Sampling() as sampling:
        rows, (note,) = sampling.ended()
    assert not rows and said in note


def test_without_a_driver_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(gpus.VARIABLE, raising=False)
    monkeypatch.setattr(gpus, "_DEVICES", ("/nowhere",))
    with gpus.Sampling() as sampling:
        assert sampling.process is None and sampling.ended() == ([], ())


def test_a_recording_gets_what_was_read_while_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(gpus.VARIABLE, library(tmp_path, "-DINIT=0", "-DUSERS"))

    def recorded(plan: record.Planned) -> int:
        Story(2.0).thread(user=0.9).write(plan.out)
        time.sleep(2)
        return 3

    monkeypatch.setattr(record, "_record", recorded)
    out = tmp_path / "r.iowhy"
    assert record.record(record.Planned(Request(argv=("made",)), out)) == 3
    with Relations(open_recording(out)) as opened:
        found = opened.rows("SELECT DISTINCT gpu, tgid FROM gpu_samples ORDER BY ALL")
    assert found == [(0, 10), (0, 11), (1, None)]
