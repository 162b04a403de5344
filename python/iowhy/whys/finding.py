"""What a verdict consists of: links, findings, claims on the time."""

from collections.abc import Mapping

from msgspec import Struct, field

from iowhy.sentences import Sentence
from iowhy.whys.remedy import Fix, Remedy

#: What the shares are of where the text shows only a part of what happened.
THE_PART = "the time shown"
#: And where the recorder took much of the time.
WITHOUT_RECORDER = "the time without the recorder"
#: Shares of these are settled, so that no time has two.
OF_TIME = ("the time", WITHOUT_RECORDER, THE_PART)


class CodeFrame(Struct, frozen=True):
    """One function of a path through a program. `name` is how it is shown; `function` is None if it has none."""

    name: str
    function: str | None
    module: str | None
    file: str | None
    line: int | None


class Link(Struct, frozen=True):
    """One why: a statement with its number, and the report that holds the rows it came from.

    `frames`: the path through the program that it is about, innermost first.
    """

    statement: Sentence
    value: float | None
    unit: str
    report: str
    frames: tuple[CodeFrame, ...] = ()


class Claim(Struct, frozen=True):
    """The part of the budget that a cause says it explains.

    `classes` are names of budget classes; `calls`, `reasons` and `modes` narrow them to system
    calls, reasons of waits and modes of CPU use (None: any). `fraction` (0..1) is how much of what
    matches is claimed, for causes that know of only a part of the requests or pages. `follows`: it is time that comes with
    what the other claims are about, and shows neither where nor when that is.
    """

    classes: frozenset[str]
    calls: frozenset[str | None] | None = None
    reasons: frozenset[str | None] | None = None
    modes: frozenset[str] | None = None
    fraction: float = 1.0
    follows: bool = False


class Saving(Struct, frozen=True):
    """What the first remedy can save at most: `part` (0..1) of the time that the finding is about.

    `condition` says what that takes, in words that follow their own "if" or "with".
    """

    part: float
    condition: str


class Candidate(Struct, frozen=True):
    """A cause that a recording shows, before it is settled which cause gets which time.

    `saving` is of the time that it gets; `by_order` is what a remedy saves of it that only changes the order of what is
    read, `by_less` what one saves that leaves work out, `by_depth` one that reads as much, but more of it at once, `by_setting` any
    other setting of a program, and `by_remedy` what those of its own do that it names, if that is
    other than `saving`.
    `summary` completes "sqlite3 spent 69 % of its time …": what it did in that time (`waiting for …`, `reading …`).
    `confidence` (0..1) is how well the measurements carry it, with `lowered_by` in words; `against`
    are measurements that speak against it. `fixed_share` is for evidence without any budget, and `share_of`
    what that is a share of. `provable` is false where the cause's experiment could not help here; `experiment` is the lever
    that would, if it is another than the cause's.
    `needs` are the sensors whose absence weakens it. `remedy` comes before the cause's own remedies;
    `remedies` replace them, where these would not help. `behind` names causes whose remedy
    must come first: where one of them can lead, this finding is shown behind it. `first` is what must be done before
    what a program can be set to helps, unless that leaves work out: the start of a sentence which that ends. `comes_first`: it
    comes before all others whatever its share is, as what waits for it waits forever, or what it holds is in danger; `headline` says it
    if that share is too little to speak of, or not of the time. `excess`: it claims what was measured to be more than a device takes that is well; what others
    claim would be left of the time if it were well. `last`: it takes what no other one explains. `moment`: it is shown however little of the time it is: whoever waited then noticed. `who`: the program that it is about, if that is other than what was recorded.
    """

    claims: tuple[Claim, ...]
    chain: tuple[Link, ...]
    summary: Sentence
    saving: Saving
    by_order: Saving | None = None
    by_less: Saving | None = None
    by_depth: Saving | None = None
    by_setting: Saving | None = None
    by_remedy: Mapping[Remedy, Saving] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    confidence: float = 0.9
    lowered_by: tuple[str, ...] = ()
    remedy: Remedy | None = None
    remedies: tuple[Remedy, ...] = ()
    behind: tuple[str, ...] = ()
    first: str | None = None
    comes_first: bool = False
    headline: Sentence | None = None
    excess: bool = False
    last: bool = False
    moment: bool = False
    who: str = ""
    fixed_share: float | None = None
    share_of: str = "the time"
    provable: bool = True
    experiment: str | None = None
    needs: tuple[str, ...] = ()


class Finding(Struct, frozen=True):
    """A cause with the share of the elapsed time (0..1) that it explains, and why it is believed.

    `gain` is the share of the same whole that its first remedy can save at most, `gain_condition` what
    that takes; `fixes` are its remedies with the same for each. `gain_with` names the causes, each with
    its share, whose time the first remedy ends as well: then the gain is of their time too.
    `summary` is what was done in its time, as a candidate has it. `experiment` is the lever that
    would prove it, `proof` the command that does, as it is typed (None where it cannot be). `healthy` says that nothing is wrong: a finding
    that explains no time, instead of others. `share_of` says what `share` is a part of: the elapsed
    time, but where no time was printed. `classes` are those of the time budget that it claims time of.
    `behind` names the cause whose remedy must come first, where it was put behind that although more could be gained here.
    `comes_first`: it is first whatever it explains; `headline` says it where that is too little to speak of. `moment`: as a candidate has it. `also_fits`: causes to which the evidence
    points too, and which this one explains.
    """

    cause: str
    title: str
    share: float
    gain: float
    gain_condition: str
    confidence: float
    lowered_by: tuple[str, ...]
    chain: tuple[Link, ...]
    against: tuple[str, ...]
    fixes: tuple[Fix, ...]
    experiment: str | None
    gain_with: tuple[tuple[str, float], ...] = ()
    summary: str = ""
    proof: str | None = None
    healthy: bool = False
    share_of: str = "the time"
    classes: tuple[str, ...] = ()
    behind: str | None = None
    comes_first: bool = False
    headline: Sentence | None = None
    moment: bool = False
    also_fits: tuple[str, ...] = ()
    who: str = ""

    @property
    def ended(self) -> float:
        """The share of the time whose cause its first remedy ends: its own, and that of others that have the same one."""
        return min(1.0, self.share + sum(share for _, share in self.gain_with))

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to do, each in full."""
        return tuple(one.in_full for one in self.fixes)

    @property
    def remedy_gains(self) -> tuple[float, ...]:
        """What each remedy can save."""
        return tuple(one.gain for one in self.fixes)
