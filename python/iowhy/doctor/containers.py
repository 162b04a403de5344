"""Which container we are in, and what its start must say so that it may load eBPF programs."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from iowhy.doctor.machine import Machine


class Given(Struct, frozen=True):
    """`rights` says how it is given capabilities, `bpf` how its seccomp filter is made to let bpf(2) pass: sentences."""

    rights: Callable[[Sequence[str]], str]
    bpf: str


def given_by(machine: Machine) -> Given | None:
    """Of the container that we are in; None outside of one."""
    if "KUBERNETES_SERVICE_HOST" in machine.environment:
        return Given(
            _kubernetes,
            "Give the container `securityContext: {capabilities: {add: [SYS_ADMIN]}}`, or `seccompProfile: {type: Unconfined}`.",
        )
    if machine.exists("/.dockerenv"):
        return _run_with("docker", "Docker before 23")
    if machine.exists("/run/.containerenv"):
        return _run_with("sudo podman", "Podman 4.3")
    if (machine.text("/run/systemd/container") or "").strip() == "lxc":
        return Given(
            _lxc, "Allow bpf in the file that `lxc.seccomp.profile` of the container names."
        )
    return None


def _run_with(program: str, older: str) -> Given:
    all_ = f"`{program} run --cap-add SYS_ADMIN …`"

    def rights(lacking: Sequence[str]) -> str:
        options = " ".join(f"--cap-add {_short(one)}" for one in lacking)
        return (
            f"Start the container with `{program} run {options} …` ({older}: {all_}), "
            "or record from the host: `iowhy run --container NAME`."
        )

    return Given(rights, f"Start the container with {all_}: its profile allows bpf(2) with that.")


def _kubernetes(lacking: Sequence[str]) -> str:
    names = ", ".join(map(_short, lacking))
    return (
        f"Give the container `securityContext: {{capabilities: {{add: [{names}]}}}}`, or record on the node. "
        "Where the cluster forbids that (GKE Autopilot does), record on a node pool of your own."
    )


def _lxc(lacking: Sequence[str]) -> str:
    names = " and ".join(_short(one).lower() for one in lacking)
    return (
        f"Let the container keep {names}: remove them from `lxc.cap.drop` in its configuration, or record from the host: "
        "`iowhy run --container NAME`."
    )


def _short(name: str) -> str:
    return name.removeprefix("CAP_")
