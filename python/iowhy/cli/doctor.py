"""`iowhy doctor`: what can be seen on this machine, or on one that ssh reaches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iowhy.cli._statuses import NO
from iowhy.errors import Problem
from iowhy.options.described import option, switch
from iowhy.options.ssh_hosts import checked_name
from iowhy.views.progress import working

if TYPE_CHECKING:
    from iowhy.doctor import Examination

EPILOG = """Examples:

  iowhy doctor

  sudo iowhy doctor --json | jq -r .answer

  iowhy doctor --on db1 --sudo
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy doctor` is asked."""

    on: str | None = option(
        "--on",
        metavar="HOST",
        help="Of another machine, over ssh; nothing has to be installed there.",
    )
    sudo: bool = switch("--sudo", help="With --on: as root there.")
    as_json: bool = switch("--json", help="Print what was found as JSON.")


def command(options: Options) -> None:
    """Say what works on this machine, what does not, why, and what to do; exit status 1 without eBPF."""
    from msgspec import structs

    from iowhy.doctor import Machine, examine
    from iowhy.doctor.machine import this_machine
    from iowhy.recordings import box
    from iowhy.sources.live import RECORDER, program
    from iowhy.sources.statements import readable

    if options.sudo and options.on is None:
        raise Problem("sudo-works-only-here")
    if options.on is not None:
        _tell(_there(options.on, options.sudo), options)
        return
    with working("trying every sensor"):
        try:
            machine = this_machine(program(RECORDER))
        except Problem as problem:
            machine = Machine(broken=str(problem))
        found = examine(
            structs.replace(machine, servers=readable(), unboxed=box.available().lacking)
        )
    _tell(found, options)


def _there(name: str, sudo: bool) -> "Examination":
    from iowhy.doctor import examine
    from iowhy.doctor.remote import machine_there
    from iowhy.sources.live import RECORDER, program
    from iowhy.sources.ssh import Host

    with machine_there(Host(checked_name(name), sudo=sudo), program(RECORDER)) as machine:
        return examine(machine)


def _tell(found: "Examination", options: Options) -> None:
    from iowhy.views import doctor_page

    doctor_page.show(found, as_json=options.as_json)
    if found.stopped is not None:
        raise SystemExit(NO)
