"""One thing to do about a finding: an order as it is typed or said, and what it risks."""

from msgspec import Struct

from iowhy.sentences import Sentence, changed


class Remedy(Struct, frozen=True):
    """`do` is one order without a full stop, with the object it is about, in words or as it is typed; `risk` is what may go wrong, is lost
    or gets slower (never that it is work), "" only of one that `looks`.

    `link` documents it, `program` is whose setting it is. `for_authors`: it takes a change of the program, `for_layouts`: another layout of
    its files (neither is for who only uses a program that is known). `part` (0..1) is how much of the
    finding's time it is about, counted by the time `of` its syncs, reads or computing. `orders`: it changes only the order of what is read,
    `less`: it leaves work out, `at_once`: it reads as much, more of it at a time. `looks`: it saves nothing yet, and shows what would.
    """

    do: Sentence
    risk: str = ""
    link: str | None = None
    program: str | None = None
    for_authors: bool = False
    for_layouts: bool = False
    part: float = 1.0
    of: str = "syncs"
    orders: bool = False
    less: bool = False
    at_once: bool = False
    looks: bool = False

    @property
    def named(self) -> Sentence:
        """The order, with whose setting it is."""
        return self.do if self.program is None else changed(self.do, f"{self.program}: {self.do}")


#: Of what changes something, and of what only looks.
LABELS = ("Fix", "Next")


class Fix(Struct, frozen=True):
    """A remedy of one finding, with what it can save: `gain` (0..1) of the whole that the finding's share is of, and what that takes."""

    do: Sentence
    gain: float
    condition: str = ""
    risk: str = ""
    link: str | None = None
    looks: bool = False

    @property
    def same(self) -> str:
        """What it is, however much of each finding it ends (`part`)."""
        setting = isinstance(self.do, Sentence) and "part" in self.do.values
        return self.do.id if setting else self.in_full

    @property
    def label(self) -> str:
        """What it is called on screens."""
        return LABELS[self.looks]

    @property
    def in_full(self) -> str:
        """The order with its risk and where it is documented."""
        risk = f"; risk: {self.risk}" if self.risk else ""
        return f"{self.do}{risk}" + (f" ({self.link})" if self.link else "")


#: Of what the best fix saves, what the first one saves at least.
WORTH_FIRST = 0.5


def worth_first(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The first of them that saves enough of what the best one does comes first; the others stay in their order.

    What only looks is not counted, and stays in front.
    """
    least = WORTH_FIRST * max((one.gain for one in fixes if not one.looks), default=0.0)
    first = next((one for one in fixes if one.looks or one.gain >= least), None)
    return fixes if first is None else (first, *(one for one in fixes if one is not first))
