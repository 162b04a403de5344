"""Run every measurement and write its tables into docs/benchmarks.md.

python -m benchmarks             all, about 10 minutes
python -m benchmarks overhead    one of: overhead, losses, verdict, programs, startup, live, stacks
"""

import re
import sys
from pathlib import Path

from benchmarks import live_view, overhead, recorder, stacks, startup

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PARTS = {
    "overhead": lambda: overhead.table(overhead.measure()),
    "losses": recorder.losses,
    "verdict": recorder.verdict_time,
    "programs": recorder.per_program,
    "startup": startup.table,
    "live": live_view.table,
    "stacks": stacks.table,
}


def main(chosen: list[str]) -> int:
    """Run the chosen parts, print each, put each between its marks in the page."""
    unknown = set(chosen) - set(PARTS)
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for name in chosen or PARTS:
        text = PARTS[name]()
        print(f"\n{name}\n\n{text}", flush=True)
        page = PAGE.read_text()
        marked = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        PAGE.write_text(re.sub(marked, lambda m, t=text: m[1] + t + m[2], page, flags=re.S))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
