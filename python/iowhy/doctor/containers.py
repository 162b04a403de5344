"""Which container we are in, and how it is given capabilities."""

from collections.abc import Callable, Sequence

from iowhy.doctor.machine import Machine


def given_by(machine: Machine) -> Callable[[Sequence[str]], str] | None:
    """What says how capabilities are given to the container that we are in; None outside of one."""
    if "KUBERNETES_SERVICE_HOST" in machine.environment:
        return _kubernetes
    if machine.exists("/.dockerenv"):
        return lambda lacking: _run_with("docker", lacking)
    if machine.exists("/run/.containerenv"):
        return lambda lacking: _run_with("sudo podman", lacking)
    return None


def _run_with(program: str, lacking: Sequence[str]) -> str:
    options = " ".join(f"--cap-add {one.removeprefix('CAP_')}" for one in lacking)
    return f"Start the container with `{program} run {options} …`, or record from the host with -p."


def _kubernetes(lacking: Sequence[str]) -> str:
    names = ", ".join(one.removeprefix("CAP_") for one in lacking)
    return (
        f"Give the container `securityContext: {{capabilities: {{add: [{names}]}}}}`, or record on the node. "
        "Where the cluster forbids that (GKE Autopilot does), record on a node pool of your own."
    )
