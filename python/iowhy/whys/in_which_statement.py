"""In which statement of a database a finding's time is, and of what that reads, where one has most of it."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.sentences import Text, changed, worded
from iowhy.whys import classes
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.locked import cut
from iowhy.whys.finding import Claim, Finding, Link
from iowhy.whys.settle import matches

#: Of a finding's time, what a statement has of it that is named.
LEAST = 0.5
_READS = {"cold": "reads {object} cold", "thrashed": "reads {object} again and again"}


class _Share(Struct, frozen=True):
    statement: str
    share: float
    object: str | None
    reads: str | None


def in_which_statement(facts: Facts, claims: tuple[Claim, ...]) -> Link | None:
    """The link of a finding that says so; None where statements were not recorded, or none has half of its time.

    `value` is what the statement has at least: of what a finding claims of a class, the statement may have the rest.
    """
    named = frozenset(one for claim in claims for one in claim.classes) - {classes.IDLE}
    pieces = [piece for piece in facts.budget.pieces if piece.cls in named]
    whole = sum(piece.elapsed for piece in pieces)
    if not whole or not facts.relations.has("statements"):
        return None
    found = next(iter(facts.relations.read(_Share, _sql(named))), None)
    claimed = sum(
        piece.elapsed * max(claim.fraction for claim in claims if matches(claim, piece))
        for piece in pieces
        if any(matches(claim, piece) for claim in claims)
    )
    if found is None or not claimed:
        return None
    share = (min(found.share, 1.0) * whole + claimed - whole) / claimed
    if share < LEAST:
        return None
    waits = classes.READ in named and found.object is not None and found.reads in _READS
    reads = found.reads if waits else None
    said = worded(
        "in-which-statement",
        "`{statement}` has {share:share} of that time" + (f": it {_READS[reads]}" if reads else ""),
        statement=cut(found.statement),
        share=share,
        object=found.object,
        reads=reads,
    )
    return link(said, share, "share", "statements")


def with_statement(finding: Finding, of: Link | None) -> Finding:
    """The finding whose sentence and chain have the statement, and what it reads, unless they name it already."""
    if of is None:
        return finding
    values = of.statement.values
    statement = str(values["statement"])
    if any(
        statement in one for one in (finding.summary, *(one.statement for one in finding.chain))
    ):
        return finding
    reads = values["reads"] and _READS[str(values["reads"])].format(object=values["object"])
    ends = f", mostly in `{statement}`" + (f", which {reads}" if reads else "")
    summary = changed(finding.summary, finding.summary + ends)
    return replace(finding, summary=summary, chain=(*finding.chain, of))


def with_objects(relations: Relations, order: Text) -> Text:
    """A remedy whose files are a database's: with what these are."""
    if "/" not in order or not relations.has("database_files"):
        return order
    found = relations.rows(
        f"""SELECT DISTINCT object FROM database_objects
        WHERE object IN (SELECT object FROM database_files) AND contains({text_literal(order)}, path) ORDER BY object LIMIT 4"""
    )
    names = ", ".join(object_ for (object_,) in found)
    return changed(order, f"{order}, of {names}") if names else order


def most_waited_for(relations: Relations) -> str | None:
    """The index or table for whose reads statements wait longest, as its catalogue names it; None if that is not known."""
    if not relations.has("statements") or not relations.has("database_files"):
        return None
    found = relations.value(
        str,
        """SELECT b.object FROM statement_objects AS b JOIN statement_totals AS t ON t.statement_id = b.statement_id
        WHERE b.reads <> 'cached' AND b.share >= 0.5 AND b.object IN (SELECT object FROM database_files)
        ORDER BY t.read_ns DESC, b.object LIMIT 1""",
    )
    return None if found is None else found.partition(" (")[0]


def _sql(named: frozenset[str]) -> str:
    within = classes.quoted(named)
    return f"""
SELECT n.text AS statement, t.ns / w.ns AS share, CASE WHEN b.share >= {LEAST} THEN b.object END AS object, b.reads
FROM (
  SELECT t.statement_id, CAST(sum(t.exact_ns + t.sampled_ns) AS DOUBLE) AS ns
  FROM statement_times AS t JOIN budget_classes AS c ON c.key = t.class WHERE c.class IN {within} GROUP BY t.statement_id
) AS t
JOIN statement_texts AS n ON n.statement_id = t.statement_id AND n.server IS NOT NULL
CROSS JOIN (SELECT sum(thread_ns) AS ns FROM budget_pieces WHERE class IN {within}) AS w
LEFT JOIN statement_objects AS b ON b.statement_id = t.statement_id
WHERE w.ns > 0 AND t.statement_id NOT IN ('others', 'unknown')
  AND t.statement_id NOT IN (SELECT statement_id FROM statement_totals WHERE backend = 'iowhy')
ORDER BY t.ns DESC, n.text LIMIT 1
"""
