"""Whose control groups are recorded: `--cgroup`, `--container` and `--pod`, which mean the same in every command that has them."""

from typing import Any, Protocol

from iowhy.options.described import option
from iowhy.options.given_names import one_name


class HasGroups(Protocol):
    """Options with these three."""

    @property
    def cgroups(self) -> tuple[str, ...]: ...
    @property
    def containers(self) -> tuple[str, ...]: ...
    @property
    def pods(self) -> tuple[str, ...]: ...


def groups_of(options: HasGroups) -> list[tuple[str, str]]:
    """The recorder's options for them, each with its value."""
    asked = {"--cgroup": options.cgroups, "--container": options.containers, "--pod": options.pods}
    return [(flag, name) for flag, names in asked.items() for name in names]


def cgroups_given(help_: str) -> Any:
    """`--cgroup`."""
    return option("--cgroup", default=(), metavar="PATH", read=one_name, help=help_)


def containers_given() -> Any:
    """`--container`, next to `--cgroup`."""
    return option(
        "--container",
        default=(),
        metavar="NAME|ID",
        read=one_name,
        help="The same of a container, or a service of systemd.",
    )


def pods_given() -> Any:
    """`--pod`, next to `--cgroup`."""
    return option(
        "--pod",
        default=(),
        metavar="NAME",
        read=one_name,
        help="The same of a pod: NAME, or NAMESPACE/NAME.",
    )
