"""What stops or limits recording is named, with what to do; near misses are not."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from iowhy.doctor import Examination, examine
from iowhy.doctor.checks import checks
from iowhy.doctor.checks.kernel import NEWEST
from iowhy.doctor.machine import Machine, probed, this_machine
from iowhy.doctor.remote import FILES, machine_there
from iowhy.errors import Problem
from iowhy.recordings.box import Box
from iowhy.recordings.manifest import Sensor
from tests.doctor.machines import (
    ALL_RIGHTS,
    BTF,
    DOCKER_RIGHTS,
    LOCKDOWN,
    NO_RIGHTS,
    RAN,
    UID_MAP,
    VERSION,
    machine,
    refused,
)
from tests.numbers_told import tells

CONFIDENTIALITY = "none integrity [confidentiality]\n"
GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
EPERM = refused("not permitted to load eBPF programs")
CAP_BPF_AND_PERFMON = "000000c0a80425fb"  # and none of CAP_SYS_RESOURCE


def states(found: Examination) -> dict[str, str]:
    return {check.subject: one.state for check, one in found.conditions}


def test_a_plain_machine_has_nothing_to_mend(tmp_path: Path) -> None:
    found = examine(machine(tmp_path))
    assert found.answer == "All 3 sensors run here." and found.stopped is None
    assert set(states(found).values()) == {"works"}


@pytest.mark.parametrize(
    ("different", "subject", "remedy"),
    [
        ({"without": [BTF], "sensors": refused("no BTF")}, "kernel", "CONFIG_DEBUG_INFO_BTF"),
        (
            {
                "without": [BTF],
                "files": {"proc/mounts": "proc /proc proc rw 0 0\n"},
                "sensors": refused("no BTF"),
            },
            "kernel",
            "mount -t sysfs sysfs /sys",
        ),
        ({"files": {LOCKDOWN: CONFIDENTIALITY}, "sensors": EPERM}, "lockdown", "lockdown=integrity"),
        ({"capabilities": NO_RIGHTS, "user_id": 1000, "sensors": EPERM}, "rights", "iowhy run -- CMD"),
        (
            {"capabilities": DOCKER_RIGHTS, "files": {".dockerenv": ""}, "sensors": EPERM},
            "rights",
            "docker run --cap-add BPF --cap-add PERFMON",
        ),
        (
            {"capabilities": DOCKER_RIGHTS, "files": {".dockerenv": ""}, "sensors": EPERM},
            "rights",
            "(Docker before 23: `docker run --cap-add SYS_ADMIN …`)",
        ),
        (
            {
                "capabilities": DOCKER_RIGHTS,
                "files": {"run/systemd/container": "lxc"},
                "sensors": EPERM,
            },
            "rights",
            "remove them from `lxc.cap.drop`",
        ),
        (
            {"capabilities": DOCKER_RIGHTS, "files": {"run/.containerenv": ""}, "sensors": EPERM},
            "rights",
            "podman run --cap-add BPF",
        ),
        (
            {
                "capabilities": DOCKER_RIGHTS,
                "environment": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
                "sensors": EPERM,
            },
            "rights",
            "add: [BPF, PERFMON]",
        ),
        (
            {"files": {UID_MAP: "0 100000 65536\n", ".dockerenv": ""}, "sensors": EPERM},
            "rights",
            "on the machine itself",
        ),
        (
            {
                "capabilities": DOCKER_RIGHTS,
                "environment": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
                "sensors": EPERM,
            },
            "rights",
            "GKE Autopilot does",
        ),
        ({"capabilities": CAP_BPF_AND_PERFMON, "seccomp": 2, "sensors": EPERM}, "seccomp", "bpf(2)"),
        (
            {
                "capabilities": CAP_BPF_AND_PERFMON,
                "seccomp": 2,
                "files": {"run/.containerenv": ""},
                "sensors": EPERM,
            },
            "seccomp",
            "podman run --cap-add SYS_ADMIN",
        ),
        ({"release": "5.10.0-32-amd64", "capabilities": CAP_BPF_AND_PERFMON, "sensors": EPERM}, "locked memory", "ulimit -l unlimited"),
        ({"files": {VERSION: GVISOR}, "release": "4.4.0", "sensors": EPERM}, "surroundings", "runtime class"),
        (
            {"environment": {"AWS_EXECUTION_ENV": "AWS_ECS_FARGATE"}, "sensors": EPERM},
            "surroundings",
            "EC2",
        ),
        (
            {"environment": {"AWS_LAMBDA_FUNCTION_NAME": "f"}, "sensors": EPERM},
            "surroundings",
            "of your own",
        ),
        ({"release": "4.4.0-19041-Microsoft", "sensors": EPERM}, "surroundings", "--set-version"),
        ({"files": {"system/build.prop": ""}, "sensors": EPERM}, "surroundings", "setenforce 0"),
    ],
)  # fmt: skip
def test_what_stops_it_comes_first_with_what_to_do(
    tmp_path: Path, different: dict[str, object], subject: str, remedy: str
) -> None:
    found = examine(machine(tmp_path, **different))  # type: ignore[arg-type]
    first = next(check.subject for check, one in found.conditions if one.state == "stops")
    assert first == subject
    assert remedy in found.answer and found.answer.startswith("eBPF cannot run here: ")
    # The kernel's bare refusal says nothing beside the reason of it.
    assert "sensors" not in states(found)


@pytest.mark.parametrize(
    "different",
    [
        {"files": {LOCKDOWN: "none [integrity] confidentiality\n"}},
        {"capabilities": CAP_BPF_AND_PERFMON, "user_id": 1000},
        {"files": {".dockerenv": ""}},
        {"environment": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}},
        {"environment": {"AWS_EXECUTION_ENV": "AWS_ECS_EC2"}},
        {"seccomp": 2},
        {"seccomp": 1},
        # Whatever a place is called: its programs run.
        {"files": {"system/build.prop": ""}},
        {"files": {VERSION: GVISOR}},
        {"without": [LOCKDOWN, UID_MAP]},
        # What perf and programs without rights need is not what the recorder does: it opens neither tracefs nor, for its
        # tracepoints, perf events, and who has CAP_BPF and CAP_PERFMON is asked by none of these.
        {"files": {"proc/sys/kernel/perf_event_paranoid": "4\n"}},
        {
            "files": {"proc/sys/kernel/unprivileged_bpf_disabled": "2\n"},
            "capabilities": CAP_BPF_AND_PERFMON,
        },
        {"without": ["sys/kernel/tracing", "sys/kernel/debug"]},
        # Since 5.11 programs and maps are no locked memory.
        {"release": "5.15.0-130-generic", "capabilities": CAP_BPF_AND_PERFMON},
        # Ubuntu 16.04 had 4.4.0, too.
        {"files": {VERSION: "Linux version 4.4.0-210-generic (buildd@lgw01-amd64-009)\n"}},
    ],
)
def test_what_does_not_stop_it_is_not_blamed(tmp_path: Path, different: dict[str, object]) -> None:
    found = examine(machine(tmp_path, **different))  # type: ignore[arg-type]
    assert found.stopped is None and found.answer == "All 3 sensors run here."


@pytest.mark.parametrize(
    ("release", "remedy"),
    [("5.15.167.4-microsoft-standard-WSL2", "home directory"), ("6.12.5-linuxkit", "volume")],
)
def test_machines_within_machines_are_told_what_they_do_not_see(
    tmp_path: Path, release: str, remedy: str
) -> None:
    found = examine(machine(tmp_path, release=release))
    assert states(found)["surroundings"] == "limits" and found.stopped is None
    assert any(remedy in one.remedy for _, one in found.conditions)


def test_a_sensor_that_does_not_run_is_named_with_its_module(tmp_path: Path) -> None:
    why = "no tracepoint xfs_log_force: xfs is not loaded, or lacks it"
    found = examine(machine(tmp_path, sensors=(*RAN, Sensor("journal_xfs", False, why))))
    assert tells(found.answer, "3", "4")
    (told,) = [one for check, one in found.conditions if check.subject == "sensors"]
    assert (
        told.state == "limits" and "journal_xfs" in told.found and "modprobe -a xfs" in told.remedy
    )


def test_of_a_program_that_the_kernel_refuses_it_says_what_to_do(tmp_path: Path) -> None:
    lost = (*RAN, Sensor("page_cache", False, "this kernel refuses on_page_add: R1 invalid"))
    for release, times in (("6.1.0", 1), ("99.1.0", 1)):
        found = examine(machine(tmp_path, release=release, sensors=lost))
        said = " ".join(one.remedy for _, one in found.conditions)
        # Of a kernel that is not known that is what its own check says.
        assert said.count("pip install --upgrade iowhy") == times


def test_a_kernel_from_the_future_is_named_only_where_a_sensor_is_lost(tmp_path: Path) -> None:
    lost = (*RAN, Sensor("waits", False, "this kernel refuses on_wait: R1 invalid"))
    assert states(examine(machine(tmp_path, release="99.1.0", sensors=lost)))["kernel"] == "limits"
    assert states(examine(machine(tmp_path, release="99.1.0")))["kernel"] == "works"


def test_the_newest_known_kernel_is_not_older_than_one_that_was_booted() -> None:
    found = Path(__file__).parents[1] / "kernels/found.json"
    releases = [one["release"] for one in json.loads(found.read_text()).values()]
    booted = [tuple(int(n) for n in release.split(".")[:2]) for release in releases]
    assert max(booted) <= NEWEST


def test_without_a_reason_of_ours_the_kernel_s_own_is_told(tmp_path: Path) -> None:
    found = examine(
        machine(tmp_path, sensors=refused("the kernel does not take the programs: E2BIG"))
    )
    assert found.stopped is not None and "E2BIG" in found.stopped.found


@pytest.mark.parametrize("program", ["/nonexistent", "/bin/false", "/bin/true"])
def test_a_recorder_that_does_not_run_is_one_of_the_answers(program: str) -> None:
    found = examine(this_machine(Path(program)))
    first = next(check.subject for check, one in found.conditions if one.state == "stops")
    assert first == "recorder" and "pip install" in found.answer


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sensors": [1]}', '{"sensors": {}}x'])
def test_an_answer_of_another_recorder_is_a_problem(text: str) -> None:
    with pytest.raises(Problem):
        probed(text)


def test_files_that_make_no_sense_are_nothing_known(tmp_path: Path) -> None:
    odd = machine(
        tmp_path,
        {
            "proc/self/status": "CapEff:\nSeccomp:\n",
            "proc/self/limits": "Max locked memory\n",
            "proc/mounts": "x\n\n",
            LOCKDOWN: "\0",
            UID_MAP: "",
        },
        release="",
    )
    assert odd.kernel == (0, 0) and odd.capabilities is None
    assert examine(odd).stopped is None


@pytest.mark.parametrize(("sys", "limited"), [("ro,nosuid", True), ("rw,nosuid", False)])
def test_settings_that_cannot_be_written_limit_what_is_tuned(
    tmp_path: Path, sys: str, limited: bool
) -> None:
    found = examine(machine(tmp_path, {"proc/mounts": f"sysfs /sys sysfs {sys} 0 0\n"}))
    subjects = [check.subject for check, one in found.conditions if one.state == "limits"]
    assert ("settings" in subjects) is limited and found.stopped is None


def test_each_subject_is_told_once_and_remedies_end_as_sentences(tmp_path: Path) -> None:
    assert len({check.subject for check in checks()}) == len({check.order for check in checks()})
    poor = machine(tmp_path, capabilities=NO_RIGHTS, seccomp=2, without=[BTF], sensors=EPERM)
    for _, one in examine(poor).conditions:
        assert not one.found.endswith(".") and (not one.remedy or one.remedy.endswith("."))


def test_this_machine_is_read_without_a_recording() -> None:
    assert Machine().release and ALL_RIGHTS


class Answers:
    """Who is asked of another machine, and answers as it does."""

    name = "db1"

    def __init__(self, found: dict[str, str]) -> None:
        self.found = {"user": "1000\n", "machine": "aarch64", "probe": "", **found}

    def probe(self, recorder: Path, files: tuple[str, ...]) -> dict[str, str]:
        assert recorder.name == "recorder"
        assert set(self.found) - {"user", "machine", "probe"} <= set(files)
        return self.found


def test_of_another_machine_its_own_files_and_rights_are_told() -> None:
    status = f"CapEff:\t{NO_RIGHTS}\n"
    probe = '{"sensors": [{"name": "syscalls", "ran": false, "why": "only root"}]}'
    there = {f"/{BTF}": "", "/proc/self/status": status, "/proc/sys/kernel/osrelease": "5.10.1\n"}
    with machine_there(Answers({"probe": probe, **there}), Path("recorder")) as machine:
        found = examine(machine)
    assert tells(found.answer, "db1", "root", "iowhy run --on db1 --sudo -- CMD")
    kernel = next(one for check, one in found.conditions if check.subject == "kernel")
    assert kernel.found == "Linux 5.10.1 on aarch64, with BTF"
    with machine_there(Answers({"probe": "x", **there}), Path("recorder")) as machine:
        assert "recorder" in states(examine(machine))


def test_all_that_the_checks_read_is_asked_for_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set()
    for name in ("text", "exists"):
        before = getattr(Machine, name)
        monkeypatch.setattr(
            Machine, name, lambda self, path, before=before: asked.add(path) or before(self, path)
        )
    for different in (
        {},
        {"capabilities": DOCKER_RIGHTS, "seccomp": 2, "sensors": EPERM},
        {"capabilities": CAP_BPF_AND_PERFMON, "seccomp": 2, "sensors": EPERM, "release": "5.10.0"},
    ):
        examine(machine(tmp_path, **different))  # type: ignore[arg-type]
    assert asked == set(FILES)


def test_what_statements_take_is_said(tmp_path: Path) -> None:
    probes = (*RAN, Sensor("statement_calls", True, None))
    assert states(examine(machine(tmp_path, sensors=probes)))["statements"] == "works"
    lacks = machine(tmp_path, sensors=probes, capabilities=CAP_BPF_AND_PERFMON)
    assert states(examine(lacks))["statements"] == "limits"
    own = machine(tmp_path)
    for why, state in ((None, "works"), ("OperationalError 28000", "limits")):
        servers = (("postgresql (7, /run/.s.PGSQL.5432)", why),)
        found = examine(structs.replace(own, servers=servers))
        assert states(found)["databases"] == state


@pytest.mark.parametrize(
    ("landlock", "seccomp", "lacking"),
    [(0, True, ["Landlock"]), (4, False, ["seccomp"]), (3, True, [])],
)
def test_what_the_kernel_lacks_for_the_reader_s_box_limits(
    tmp_path: Path, landlock: int, seccomp: bool, lacking: list[str]
) -> None:
    here = structs.replace(machine(tmp_path), unboxed=Box(landlock, seccomp).lacking)
    found = {check.subject: one for check, one in examine(here).conditions}
    assert ("reading" in found) == bool(lacking)
    assert not lacking or tells(found["reading"].found, *lacking)
