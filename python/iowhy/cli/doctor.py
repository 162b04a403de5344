"""`iowhy doctor`: what can be seen on this machine."""

from iowhy.cli._statuses import NO
from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.options.described import switch
from iowhy.views.progress import working

EPILOG = """Examples:

  iowhy doctor

  sudo iowhy doctor --json | jq -r .answer
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy doctor` is asked."""

    as_json: bool = switch("--json", help="Print what was found as JSON.")


def command(options: Options) -> None:
    """Say what works on this machine, what does not, why, and what to do; exit status 1 without eBPF."""
    from iowhy.doctor import Machine, examine
    from iowhy.doctor.machine import this_machine
    from iowhy.sources.live import RECORDER, program
    from iowhy.views import doctor_page

    with working("trying every sensor"):
        try:
            machine = this_machine(program(RECORDER))
        except Problem as problem:
            machine = Machine(broken=str(problem))
        found = examine(machine)
    doctor_page.show(found, as_json=options.as_json)
    if found.stopped is not None:
        raise SystemExit(NO)
