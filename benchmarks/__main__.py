"""Run every measurement and write its tables into docs/benchmarks.md.

python -m benchmarks             all, about 20 minutes
python -m benchmarks overhead    one of: overhead, accounted, losses, verdict, programs, startup, live, stacks, fleets, fleet-causes, agent
python -m benchmarks accounted=30 with that many of each workload; by itself 7
python -m benchmarks fleets=1000 with that many recordings, and ten times as many; by itself 20
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    accounted,
    agent,
    fleets,
    live_view,
    overhead,
    recorder,
    stacks,
    startup,
)

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PARTS = {
    "overhead": lambda: overhead.table(overhead.measure()),
    "accounted": accounted.table,
    "losses": recorder.losses,
    "verdict": recorder.verdict_time,
    "programs": recorder.per_program,
    "startup": startup.table,
    "live": live_view.table,
    "stacks": stacks.table,
    "fleets": fleets.table,
    "fleet-causes": fleets.causes,
    "agent": agent.table,
}
#: Parts that take a number.
SIZED: dict[str, Callable[[int], str]] = {
    "fleets": fleets.table,
    "fleet-causes": fleets.causes,
    "accounted": accounted.table,
    "agent": agent.table,
}


def main(chosen: list[str]) -> int:
    """Run the chosen parts, print each, put each between its marks in the page."""
    unknown = {word for word in chosen if _part(word) is None}
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for word in chosen or PARTS:
        name, measure = word.partition("=")[0], _part(word)
        assert measure is not None
        text = measure()
        print(f"\n{name}\n\n{text}", flush=True)
        page = PAGE.read_text()
        marked = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        PAGE.write_text(re.sub(marked, lambda m, t=text: m[1] + t + m[2], page, flags=re.S))
    return 0


def _part(word: str) -> Callable[[], str] | None:
    """What measures it; None for what is no part."""
    name, given, number = word.partition("=")
    if not given:
        return PARTS.get(name)
    if name not in SIZED or not number.isdigit() or not int(number):
        return None
    return lambda: SIZED[name](int(number))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
