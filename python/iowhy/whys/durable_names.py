"""Names that a mount makes durable: each file that is created, renamed or removed waits for a sync that no call asks for."""

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, links, saving, thresholds
from iowhy.whys.chain import chain_of, link
from iowhy.whys.facts import Facts, filesystems
from iowhy.whys.facts.metadata import NAME_CALLS
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.remedy import Remedy


def durable_names(facts: Facts, otherwise: Remedy) -> Candidate | None:
    """Calls on names that are synced each, as the filesystem is mounted so."""
    share = sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls == classes.SYNC and piece.call in NAME_CALLS
    )
    if facts.run.pasted or share < thresholds.LISTED:
        return None
    there = filesystems.of(facts.filesystems, filesystems.called_most(facts.relations))
    option = None if there is None else there.names_durable_by
    if there is None or option is None:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC}), calls=NAME_CALLS),),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.SYNC}), "is spent waiting for syncs"),
            link(
                f"{there.mount} is mounted with `{option}`: files are created, renamed and removed durably, one by one",
                None,
                "",
                "waits",
                "durable-names.names",
            ),
        ),
        summary=worded("durable-names.each-name", "making the names of files durable one by one"),
        saving=saving.all_of_it("if names need not be durable at once"),
        remedies=(
            Remedy(
                worded(
                    "durable-names.mount-without",
                    "Mount {mount} without `{option}`",
                    mount=quoted(there.mount),
                    option=option,
                ),
                risk="a crash loses the files that were created or renamed last",
            ),
            otherwise,
        ),
        provable=False,
        needs=("syscalls", "waits"),
    )
