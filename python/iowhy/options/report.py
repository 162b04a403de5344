"""Which part of a recording is looked at."""

from dataclasses import dataclass

from iowhy.options.described import option
from iowhy.options.process_ids import pids_given


@dataclass(frozen=True, kw_only=True)
class Part:
    """Which part of the recording is looked at."""

    since: str | None = option(
        "--since",
        metavar="TIME",
        help="From here on: seconds after the start (12, 250ms, 2m), or a time.",
    )
    until: str | None = option("--until", metavar="TIME", help="Up to here, as --since.")
    pids: tuple[int, ...] = pids_given("Processes or threads.")
    container: str | None = option(
        "--container",
        metavar="NAME|ID",
        help="Processes of this container, or service of systemd.",
    )
    file: str | None = option(
        "--file", help="Files: a part of the path, or a pattern with * and ? for all of it."
    )
    device: str | None = option(
        "--device", metavar="NAME", help="One block device, by its name: vda."
    )
