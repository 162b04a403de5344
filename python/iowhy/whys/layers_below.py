"""Links on the layers below the device that a finding speaks of, and on the one disk of an array that keeps it waiting."""

from iowhy.sentences import worded
from iowhy.whys import classes
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.layers import Answers, Layers
from iowhy.whys.finding import Claim, Link

#: From this many times what the other disks of an array take for a request, one is late: less is their load's doing.
LATE = 3.0
#: Requests of a disk, below which its mean is chance.
REQUESTS_MIN = 16


def layers_below(facts: Facts, claims: tuple[Claim, ...]) -> tuple[Link, ...]:
    """Links for a finding of time that waits for storage; none where the device is on nothing."""
    if not any(claim.classes & set(classes.STORAGE) for claim in claims):
        return ()
    found = facts.layers
    if found is None:
        return ()
    on = [one.kind for one in facts.filesystems if one.disk_dev == facts.requests.dev]
    kind = on[0] if len(set(on)) == 1 else None
    late = _late(found)
    said = worded(
        "layers",
        ("{filesystem} on " if kind else "") + "{layers}",
        filesystem=kind,
        layers=found.shown,
    )
    shown = link(said, None, "", "device-facts")
    return (shown,) if late is None else (shown, late)


def _late(found: Layers) -> Link | None:
    """The disk that takes far longer than the others for the same work."""
    for op in ("write", "read"):
        answers = sorted((one for one in found.answers if one.op == op), key=_takes)
        if len(answers) < 2:
            continue
        *others, last = answers
        from statistics import median  # slow to import, and of use for arrays only

        usual = median(map(_takes, others))
        if last.requests >= REQUESTS_MIN and usual > 0 and last.mean_ns >= LATE * usual:
            return link(
                worded(
                    "late-disk",
                    "its disk {device} takes {each:ns} per {op}, "
                    + ("the other" if len(others) == 1 else "the others")
                    + " {usual:ns}",
                    device=found.members[last.dev],
                    each=last.mean_ns,
                    op=op,
                    usual=usual,
                ),
                last.mean_ns,
                "ns",
                "devices",
            )
    return None


def _takes(one: Answers) -> float:
    return one.mean_ns
