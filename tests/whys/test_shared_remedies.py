"""A remedy that ends two findings: it gains what both say, comes first with both, and the answer says so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sentences import named
from iowhy.whys.finding import Finding
from iowhy.whys.remedy import Fix
from iowhy.whys.shared_remedies import MORE, together
from iowhy.whys.verdict import Verdict
from iowhy.whys.verdict_json import as_json

from .conftest import Judge, finding, fixes_of
from .made import KIB, MS, START, Story


def cold_tree(names: int, reads: int, *, removing: bool = False) -> Story:
    """A copy of a tree of 100 files on a disk in 4 s: so many lookups and reads wait for 10 ms each."""
    story = Story(4.0).caller(
        "newfstatat", names, blocked=10 * MS, bytes_=None, reason="metadata_read", gap_share=0.2
    )
    story.requests(names, service=10 * MS, kind="metadata", ino=None, jump=True)
    story.caller("read", reads, blocked=10 * MS, bytes_=128 * KIB, tid=11, gap_share=0.2)
    story.requests(reads, service=10 * MS, bytes_=128 * KIB)
    story.cache(lookups=32 * reads, misses=reads, readahead=31 * reads)
    for name, calls in (("newfstatat", names), *([("unlinkat", names)] if removing else [])):
        story.add(
            "syscall_totals", ts_ns=START, interval_ns=story.elapsed, tgid=10, tid=10, name=name,
            calls=calls, errors=0, total_ns=calls * 10 * MS,
        )  # fmt: skip
    return story


def both(verdict: Verdict) -> tuple[Finding, Finding]:
    names, data = finding(verdict, "metadata-cold"), finding(verdict, "cache-cold")
    assert names is not None and data is not None, verdict.answer
    return names, data


def test_a_warm_tree_takes_the_time_of_names_and_of_data(judged: Judge) -> None:
    verdict = judged(cold_tree(150, 300))
    names, data = both(verdict)
    assert verdict.findings[0] is data and data.share > names.share
    assert names.gain == data.gain == pytest.approx(names.share + data.share, abs=0.01)
    assert names.remedies[0] == data.remedies[0]
    assert fixes_of(data)[0] == "shared.warm-cache"
    assert names.gain_condition == "if they are in memory"
    assert len(names.remedies) == len(names.remedy_gains) == len(set(names.remedies)) == 4
    told = {
        one["cause"]: one["gain_with"]
        for one in json.loads(json.dumps(as_json(verdict)))["findings"]
    }
    assert told["cache-cold"] == ["metadata-cold"] and told["metadata-cold"] == ["cache-cold"]


def test_the_larger_one_leads(judged: Judge) -> None:
    verdict = judged(cold_tree(300, 150))
    names, data = both(verdict)
    assert verdict.findings[0] is names and names.share > data.share
    assert [cause for cause, _ in names.gain_with] == ["cache-cold"]


def test_two_that_are_too_little_to_lead_do_so_together(judged: Judge) -> None:
    verdict = judged(cold_tree(80, 85))
    names, data = both(verdict)
    assert max(names.share, data.share) < 0.25 < names.share + data.share
    assert verdict.findings[0].cause == "cache-cold", verdict.answer


def test_not_where_a_second_run_finds_no_names(judged: Judge) -> None:
    """Who removes what it looks up cannot do so twice: the data are still there."""
    verdict = judged(cold_tree(150, 300, removing=True))
    names, data = both(verdict)
    assert not names.gain_with and not data.gain_with
    assert "shared.warm-cache" not in fixes_of(names)
    assert data.gain == pytest.approx(data.share) and names.gain <= names.share


def made(cause: str, share: float, *remedies: tuple[str, float], of: str = "the time") -> Finding:
    fixes = tuple(Fix(text, gain, f"if {text}") for text, gain in remedies)
    return Finding(
        cause, cause, share, fixes[0].gain if fixes else 0.0, "as first", 0.9, (), (), (),
        fixes, None, share_of=of,
    )  # fmt: skip


def test_what_suits_one_best_stays_first_where_the_other_adds_little() -> None:
    """A walk of a tree, 60 %, that also reads 6 % of data: the walk's own remedy is as good."""
    found = [made("a", 0.6, ("order", 0.6), ("warm", 0.6)), made("b", 0.06, ("warm", 0.06))]
    assert together(found) == found
    more = [found[0], made("b", 0.06 + MORE, ("warm", 0.06 + MORE))]
    assert [one.remedies[0] for one in together(more)] == ["warm", "warm"]


def test_first_with_both_it_counts_for_both_however_little_one_is() -> None:
    found = [
        made("a", 0.6, ("sync less", 0.6)),
        made("b", 0.06, ("sync less", 0.05), ("else", 0.06)),
    ]
    first, second = together(found)
    assert first.gain == second.gain == pytest.approx(0.65)
    assert second.remedy_gains == (pytest.approx(0.65), 0.06)


def test_a_setting_is_one_whatever_it_ends_of_each() -> None:
    """Fewer columns are read, and fewer are decoded: of reads all are ended, of computing a part."""

    def setting(part: float) -> str:
        return named("polars.lazy", f"read less (ends {part:.0%})", part=part)

    found = [made("a", 0.5, (setting(1.0), 0.5)), made("b", 0.4, (setting(0.5), 0.2))]
    first, second = together(found)
    assert first.gain == second.gain == pytest.approx(0.7)
    assert [cause for cause, _ in first.gain_with] == ["b"]


def test_not_of_different_wholes_nor_of_no_findings_first_remedy() -> None:
    apart = [made("a", 0.5, ("x", 0.5)), made("b", 0.4, ("x", 0.4), of="the requests")]
    assert together(apart) == apart
    last = [made("a", 0.5, ("y", 0.1), ("x", 0.5)), made("b", 0.4, ("z", 0.1), ("x", 0.4))]
    assert together(last) == last


REMEDIES = st.lists(
    st.tuples(st.sampled_from("vwxyz"), st.floats(0, 1)), max_size=4, unique_by=lambda one: one[0]
)


@given(st.lists(st.tuples(st.floats(0.05, 0.2), REMEDIES), max_size=5))
def test_no_remedy_gains_more_than_the_time_of_those_that_it_ends(
    drawn: list[tuple[float, list[tuple[str, float]]]],
) -> None:
    found = [
        made(f"c{at}", share, *((text, part * share) for text, part in remedies))
        for at, (share, remedies) in enumerate(drawn)
    ]
    for before, after in zip(found, together(found), strict=True):
        assert after.share == before.share and sorted(after.remedies) == sorted(before.remedies)
        assert after.gain <= after.ended + 1e-9
        assert after.gain >= before.gain - 1e-9
        assert not after.remedies or after.gain == after.remedy_gains[0]
        ended = {cause for cause, _ in after.gain_with}
        assert all(after.remedies[0] in one.remedies for one in found if one.cause in ended)
