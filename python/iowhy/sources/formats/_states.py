"""Threads that are in uninterruptible sleep at one moment, as ps, top and the kernel's log list them."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.stacks import OTHER, reason

#: How many are named in the note.
NAMED = 5


class Sleeper(Struct, frozen=True):
    """One thread in state D; `where`: the kernel function that it sleeps in, or its stack, innermost first."""

    tid: int
    comm: str
    where: tuple[str, ...] = ()

    def reason(self) -> str | None:
        """Why, by the rules for stacks (iowhy.tables); None when the text does not have it."""
        if not self.where:
            return None
        found = reason(list(self.where))
        return self.where[0] if found == OTHER else found

    def named(self) -> str:
        """The thread, in which function it sleeps, and why, if that is known."""
        why = self.reason()
        if why is None:
            return f"{self.comm} ({self.tid})"
        named = f"{self.comm} ({self.tid}) in {self.where[0]}"
        return named if why == self.where[0] else f"{named} ({why})"


def emit(parsed: Parsed, sleepers: Sequence[Sleeper], since: str = "") -> None:
    """Counts by reason into measurements, and a note that names the first few."""
    if not sleepers:
        return
    for why, count in Counter(one.reason() or "unknown" for one in sleepers).items():
        parsed.measure(why, "uninterruptible_threads", float(count))
    for name, count in Counter(one.named() for one in sleepers[:NAMED]).items():
        parsed.measure(name, "in_state_d", float(count))
    named = ", ".join(one.named() for one in sleepers[:NAMED])
    more = f" and {len(sleepers) - NAMED:,} more" if len(sleepers) > NAMED else ""
    threads = "thread is" if len(sleepers) == 1 else "threads are"
    parsed.note(f"{len(sleepers):,} {threads} in uninterruptible sleep{since}: {named}{more}")
