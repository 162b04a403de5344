"""How many examples a property is tried with: few in each run, many in `make torture` (EXAMPLES=300)."""

import os

from hypothesis import settings

#: Of a property whose example costs nothing to try.
EXAMPLES = int(os.environ.get("EXAMPLES", "15"))
#: How many times as many as in each run; tests that look at it are marked `more`, and torture runs them.
TIMES = max(1, EXAMPLES // 15)


def costly(few: int) -> settings:
    """Of a property whose example costs much: so many in each run, and as many times more as of others in torture."""
    return settings(max_examples=max(1, few * EXAMPLES // 15))
