"""Findings that one remedy ends: it gains what it gains of the time of each of them."""

from msgspec.structs import replace

from iowhy.whys.finding import OF_TIME, Finding

#: What a remedy of several findings gains beyond the best first one among them, to come first with all of them: less than
#: that two runs differ anyway, and what suits one of them best is kept.
MORE = 0.1


def together(findings: list[Finding]) -> list[Finding]:
    """The findings, those that have a remedy in common with what it gains of the time of all of them.

    A remedy is the same where its words are, but for what a program's setting ends of each. One that comes first with one finding, and
    is further down with others, comes first with these too where that gains more.
    """
    done = list(findings)
    free = {at for at, one in enumerate(done) if one.fixes and one.share_of in OF_TIME}
    while True:
        groups = [_group(done, free, text) for text in {done[at].fixes[0].same for at in free}]
        groups = [one for one in groups if len(one[1]) > 1]
        if not groups:
            return done
        text, members = max(groups, key=lambda one: (_union(done, one[1], one[0]), one[0]))
        for at, finding in _shared(done, members, text).items():
            done[at] = finding
        free -= members


def _of(finding: Finding) -> tuple[str, ...]:
    return tuple(one.same for one in finding.fixes)


def _group(findings: list[Finding], free: set[int], text: str) -> tuple[str, set[int]]:
    """Those of which a remedy is the first, and, where it gains more than any first one, those that have it at all."""
    having = {at for at in free if text in _of(findings[at])}
    first = {at for at in having if findings[at].fixes[0].same == text}
    best = max(findings[at].gain for at in having)
    return text, having if _union(findings, having, text) >= best + MORE else first


def _union(findings: list[Finding], members: set[int], text: str) -> float:
    """What a remedy gains of the time of several findings: no time is given twice, so that their gains add up."""
    return min(1.0, sum(_gains(findings[at], text) for at in members))


def _gains(finding: Finding, text: str) -> float:
    return finding.remedy_gains[_of(finding).index(text)]


def _shared(findings: list[Finding], members: set[int], text: str) -> dict[int, Finding]:
    gain = _union(findings, members, text)
    return {at: _with(findings, at, members, text, gain) for at in members}


def _with(findings: list[Finding], at: int, members: set[int], text: str, gain: float) -> Finding:
    """A finding with the remedy first, and with the others that it ends, the largest first."""
    one = findings[at]
    place = _of(one).index(text)
    order = [place, *(number for number in range(len(one.fixes)) if number != place)]
    others = sorted(
        (findings[other] for other in members - {at}), key=lambda f: (-f.share, f.cause)
    )
    return replace(
        one,
        gain=gain,
        gain_condition=one.fixes[place].condition,
        gain_with=tuple((other.cause, other.share) for other in others),
        fixes=(
            replace(one.fixes[place], gain=gain),
            *(one.fixes[number] for number in order[1:]),
        ),
    )
