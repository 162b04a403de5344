"""Does the product name the true cause? Runs scenarios broken and fixed, and holds what was found against what is so."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from iowhy.errors import Problem
from iowhy.lab import shell, trial
from iowhy.lab.disks import EMULATED
from iowhy.lab.scenario import CPU, Scenario, Variant
from iowhy.lab.stage import Choice
from iowhy.lab.trial import Trial
from iowhy.units import size
from iowhy.whys.finding import Finding
from iowhy.whys.remedy import Fix

#: A wrong finding that claims less than this of the time is no wrong answer: it is listed, not led with.
TOLERATED = 0.15

#: What a finding says that can be gained and what its fix saves may differ by this much (both are shares of the
#: broken run's time). Emulated disks only: elsewhere the machine's noise is in the difference.
GAIN_TOLERANCE = 0.20

#: From this many CPUs in use by other programs on, a program that computes lacks CPUs: then cpu-saturated is the
#: truth where an idle machine would give cpu-serial.
BUSY_MACHINE_CPUS = 0.5

#: From this share of the machine's CPUs in use by other programs on, any program here waits for CPUs: cpu-saturated is then
#: true of all, and no time is comparable with another.
FULL_MACHINE = 0.75


class Tried(Struct, frozen=True):
    """The remedy that a fix follows: its number among those printed that save something (None: it is not one of them), how many, its words.

    `could_save` is what the finding says that it can save: what the first remedy can, where the fix is not one of them.
    """

    number: int | None
    of: int
    text: str
    could_save: float


class Check(Struct, frozen=True):
    """One scenario verified. `why` says what is not right; `ok` is that nothing is.

    `gain` is the share of the broken run's time that the fix saved, None without a fixed variant.
    `missing` are expected words that the chain does not contain: also wrong, if the cause is right. `not_run` is
    what this machine lacks for it: then nothing was tried, and it is neither right nor wrong.
    """

    scenario: Scenario
    choice: Choice
    broken: Trial | None
    fixed: Trial | None
    why: tuple[str, ...]
    missing: tuple[str, ...]
    not_run: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the right cause was found and nothing wrong claimed."""
        return not self.why and self.not_run is None

    @property
    def gain(self) -> float | None:
        """Share of the broken run's time that the fixed run saved."""
        if self.broken is None or self.fixed is None or self.broken.seconds <= 0:
            return None
        return _gain(self.broken, self.fixed)

    @property
    def could_save(self) -> float | None:
        """What the first finding says could be saved, by the remedy that the fix is if it is one of several."""
        return None if self.broken is None else _could_save(self.scenario, self.broken)

    @property
    def tried(self) -> "Tried | None":
        """Which of the first finding's remedies the fix is; None without a fix, or if that is not said."""
        return None if self.fixed is None else _tried(self.scenario, self.broken)

    def document(self) -> dict[str, Any]:
        """As one object of the documented JSON."""
        broken, fixed = self.broken, self.fixed
        return {
            "name": self.scenario.name,
            "case": self.scenario.case,
            "fs": self.choice.fs,
            "device": self.choice.device,
            "seed": self.choice.seed,
            "scale": self.choice.scale,
            "expected": _expected(self.scenario),
            "accepted": list(self.scenario.broken.right_on(self.choice.device)),
            "found": None if broken is None else broken.found,
            "share": None if broken is None else broken.share,
            "could_save": self.could_save,
            "findings": []
            if broken is None
            else [
                {"cause": finding.cause, "share": finding.share, "could_save": finding.gain}
                for finding in broken.verdict.findings
            ],
            "confidence": None if broken is None or broken.top is None else broken.top.confidence,
            "answer": None if broken is None else broken.verdict.answer,
            "others_cpus": None if broken is None else broken.others_cpus,
            "busy_machine": broken is not None and full(broken),
            "broken_s": None if broken is None else broken.seconds,
            "fixed_s": None if fixed is None else fixed.seconds,
            "gain": self.gain,
            "fixed_found": None if fixed is None else fixed.found,
            "fixed_share": None if fixed is None else fixed.share,
            "figures": [
                {
                    "name": figure.name,
                    "unit": figure.unit,
                    "published_broken": figure.broken,
                    "published_fixed": figure.fixed,
                    "broken": None if broken is None else figure.here(broken.printed),
                    "fixed": None if fixed is None else figure.here(fixed.printed),
                }
                for figure in self.scenario.figures
            ],
            "remedy": None if self.tried is None else {**asdict(self.tried), "saved": self.gain},
            "missing_from_chain": list(self.missing),
            "not_run": self.not_run,
            "why_not": list(self.why),
            "ok": self.ok,
        }


def verify(
    chosen: Sequence[Scenario],
    *,
    fs: str | None = None,
    device: str | None = None,
    seed: int = 1,
    scale: float = 1.0,
    parent: Path | None = None,
    keep: Path | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> Iterator[Check]:
    """Verifies each scenario, on its usual device and filesystem unless others are given.

    A scenario that does not make sense on them is passed over. `keep` is a directory for the recordings. What cannot be run
    at all comes out as not ok, with the reason.
    """
    sensible = [
        scenario
        for scenario in chosen
        if (fs is None or fs in scenario.filesystems)
        and (device is None or device in scenario.devices)
    ]
    for number, scenario in enumerate(sensible, 1):
        choice = Choice(fs or scenario.filesystems[0], device or scenario.devices[0], seed, scale)
        lacking = shell.missing(scenario.tools)
        if lacking is not None:
            progress(f"{number} of {len(sensible)}: {scenario.name}")
            yield Check(scenario, choice, None, None, (), (), lacking)
            continue
        trials: list[Trial] = []
        try:
            for variant in _broken_and_fix(scenario, trials):
                progress(
                    f"{number} of {len(sensible)}: {scenario.name}, {variant.name}, "
                    f"on {choice.fs}, {choice.device}"
                )
                out = None
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    out = (
                        keep
                        / f"{scenario.name}-{variant.name}-{choice.fs}-{choice.device}-{seed}.iowhy"
                    )
                trials.append(trial.run(scenario, variant, choice, parent=parent, keep=out))
        except Problem as problem:
            first = trials[0] if trials else None
            yield Check(scenario, choice, first, None, (f"could not run: {problem}",), ())
            continue
        yield check(scenario, choice, trials[0], trials[1] if len(trials) > 1 else None)


def _broken_and_fix(scenario: Scenario, trials: Sequence[Trial]) -> Iterator[Variant]:
    """The broken variant; once that was tried, the fix that follows the first remedy of its verdict."""
    yield scenario.broken
    fix = _fix(scenario, trials[0])
    if fix is not None:
        yield fix


def _fix(scenario: Scenario, broken: Trial | None) -> Variant | None:
    """The fix of a scenario, by what was found without it."""
    top = None if broken is None else broken.top
    return scenario.fix_for([] if top is None else [one.do.id for one in _saving(top)])


def _saving(top: Finding) -> list[Fix]:
    """Its remedies but those that only look: they save nothing yet."""
    return [one for one in top.fixes if not one.looks]


def check(scenario: Scenario, choice: Choice, broken: Trial, fixed: Trial | None) -> Check:
    """Judges the verdicts of a scenario's trials."""
    causes = scenario.broken.right_on(choice.device)
    why = _wrong(broken, causes, must_find=True)
    if scenario.case is None:
        why += _also(broken, (*causes, *scenario.broken.also))
    fix = _fix(scenario, broken)
    if fixed is not None and fix is not None:
        right = fix.right_on(choice.device)
        wrong = _wrong(fixed, right, must_find=False)
        if wrong and fixed.reread_bytes:
            wrong.append(
                f"{size(fixed.reread_bytes)} of what was in memory had been taken out of it again: it is not a warm run"
            )
        why += [f"fixed: {text}" for text in wrong]
        starved = fixed.found == "cpu-saturated" and full(fixed)
        if fixed.found == broken.found and fixed.found not in right and not starved:
            why.append(f"fixed: {fixed.found} is still found")
        gain, could_save = _gain(broken, fixed), _could_save(scenario, broken)
        if (
            scenario.share_is_gain
            and choice.device in EMULATED
            and not full(broken)
            and not full(fixed)
            and abs(gain - could_save) >= GAIN_TOLERANCE
        ):
            why.append(f"says that {could_save:.0%} could be saved, and the fix saves {gain:.0%}")
    if fixed is not None and not why:
        why += _not_first(scenario, broken)
    chain = {link.statement.id for link in broken.top.chain} if broken.top else set()
    missing = tuple(id_ for id_ in scenario.chain if id_ not in chain)
    if missing and not why and not full(broken) and broken.found in scenario.broken.causes:
        why.append(f"the chain lacks {', '.join(missing)}")
    return Check(scenario, choice, broken, fixed, tuple(dict.fromkeys(why)), missing)


def _not_first(scenario: Scenario, broken: Trial) -> list[str]:
    """The first remedy is what people do: its fix is tried, and no other one's."""
    tried = _tried(scenario, broken)
    if tried is None or tried.number == 1 or not scenario.share_is_gain or full(broken):
        return []
    if broken.found not in scenario.broken.causes:
        return []
    return [f"the fix follows remedy {tried.number or 'none'} of {tried.of}, not the first"]


def _tried(scenario: Scenario, broken: Trial | None) -> Tried | None:
    """Which of the first finding's remedies the scenario's fix is."""
    top, fixed = None if broken is None else broken.top, _fix(scenario, broken)
    if top is None or fixed is None or not scenario.followed(fixed):
        return None
    saving = _saving(top)
    for number, one in enumerate(saving, 1):
        if one.do.id in scenario.followed(fixed):
            return Tried(number, len(saving), one.in_full, one.gain)
    return Tried(None, len(saving), fixed.text, top.gain)


def _gain(broken: Trial, fixed: Trial) -> float:
    """The share of the broken run's time that the fix saved, of the time that findings speak of on both sides."""
    return 1.0 - fixed.own_seconds / broken.own_seconds


def _could_save(scenario: Scenario, broken: Trial) -> float:
    """What the first finding says could be saved: by the remedy that the fix is, if it is one of several."""
    tried = _tried(scenario, broken)
    return broken.could_save if tried is None else tried.could_save


def full(found: Trial) -> bool:
    """Whether other programs left the trial hardly any CPU."""
    return found.others_cpus >= FULL_MACHINE * len(os.sched_getaffinity(0))


def _wrong(found: Trial, right: Sequence[str], *, must_find: bool) -> list[str]:
    if found.found in right:
        return []
    if found.found == "cpu-saturated" and (
        full(found) or (found.others_cpus >= BUSY_MACHINE_CPUS and "cpu-serial" in right)
    ):
        return []
    if found.found == "healthy":
        return [] if not must_find or "healthy" in right else ["found nothing"]
    harmless = "healthy" in right or "not-io" in right or not must_find
    if harmless and found.share <= TOLERATED:
        return []
    return [f"found {found.found} ({found.share:.0%})"]


def _also(found: Trial, right: Sequence[str]) -> list[str]:
    """What a control's later findings claim wrongly. That time is spent on CPUs is measured, not concluded."""
    return [
        f"also found {finding.cause} ({finding.share:.0%})"
        for finding in found.verdict.findings
        if finding.share > TOLERATED and finding.cause not in (found.found, *right, *CPU, "healthy")
    ]


def _expected(scenario: Scenario) -> str:
    return scenario.broken.causes[0] if scenario.broken.causes else "healthy"


def confusion(checks: Sequence[Check]) -> list[tuple[str, str, int, bool]]:
    """Rows (expected cause, found cause, how often, whether that is right), by expected cause.

    Both variants count: the fixed one with its own right causes.
    """
    counts: Counter[tuple[str, str, bool]] = Counter()
    for one in checks:
        for found, variant, must_find in (
            (one.broken, one.scenario.broken, True),
            (one.fixed, _fix(one.scenario, one.broken), False),
        ):
            if found is None or variant is None:
                continue
            causes = variant.right_on(one.choice.device)
            right = not _wrong(found, causes, must_find=must_find)
            # Any accepted name counts as the expected one, so that the table shows confusions only.
            expected = found.found if found.found in causes else causes[0]
            counts[expected, found.found, right] += 1
    return [(e, f, n, right) for (e, f, right), n in sorted(counts.items())]
