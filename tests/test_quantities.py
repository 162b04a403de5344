"""One grammar for durations, sizes and shares: exact, and what iowhy prints can be typed back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy import quantities, units
from iowhy.errors import Problem
from tests.problems import wrong

S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("30", 30 * S),
        ("1.5s", 1_500_000_000),
        ("500ms", 500_000_000),
        ("2 m", 120 * S),
        ("2min", 120 * S),
        (".5h", 1800 * S),
        ("1h30m", 5400 * S),
        ("1 min 2.5 s", 62_500_000_000),
        ("7µs", 7000),
        ("7us", 7000),
        ("1d", 86_400 * S),
        ("0", 0),
        ("1.9999ns", 1),
    ],
)
def test_a_duration_is_read_in_the_usual_units(text: str, ns: int) -> None:
    assert quantities.duration_ns(text) == ns


@pytest.mark.parametrize(
    "text",
    ["", "s", "-1", "+1", "1e3", "3 days", "nan", "inf", "1h30", "30m1h", "1s1s", "2M", "1,5s", "9" * 41],
)  # fmt: skip
def test_what_is_no_duration_is_refused(text: str) -> None:
    assert quantities.duration_ns(text) is None
    with wrong("not-a-time", option="--duration", text=text):
        quantities.positive_duration_ns("--duration", text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512", 512),
        ("64KiB", 65_536),
        ("64K", 65_536),
        ("64kB", 64_000),
        ("10MB", 10_000_000),
        ("2.5GiB", 5 << 29),
        ("1 t", 1 << 40),
        ("3B", 3),
    ],
)
def test_a_size_is_read_as_coreutils_does(text: str, count: int) -> None:
    assert quantities.size_bytes(text) == count


@pytest.mark.parametrize("text", ["", "KiB", "-1K", "1KiBs", "1e3", "1 K B", "nan", "9" * 41])
def test_what_is_no_size_is_refused(text: str) -> None:
    assert quantities.size_bytes(text) is None
    with wrong("not-a-size", option="--size", text=text):
        quantities.positive_size_bytes("--size", text)


@pytest.mark.parametrize("text", ["0", "9" * 30])
def test_nothing_and_too_much_are_no_amounts(text: str) -> None:
    with wrong("not-a-time", option="--x", text=text):
        quantities.positive_duration_ns("--x", text)
    with wrong("not-a-size", option="--x", text=text):
        quantities.positive_size_bytes("--x", text)


numbers = st.decimals(0, 10**6, places=6).map(lambda value: f"{value:f}")


@given(numbers, st.sampled_from(sorted(quantities.DURATIONS_NS)))
def test_a_duration_is_exact(number: str, unit: str) -> None:
    exact = Fraction(number) * quantities.DURATIONS_NS[unit]
    assert quantities.duration_ns(f"{number}{unit}") == int(exact)


@given(numbers, st.sampled_from(sorted(quantities.SIZES_BYTES)))
def test_a_size_is_exact_in_any_case(number: str, unit: str) -> None:
    exact = int(Fraction(number) * quantities.SIZES_BYTES[unit])
    for text in (f"{number}{unit}", f"{number} {unit.upper()}"):
        assert quantities.size_bytes(text) == exact


@given(st.integers(0, 10**15))
def test_what_is_printed_can_be_typed(value: int) -> None:
    """Within the three digits that are printed."""
    back = quantities.duration_ns(units.duration(value).replace(",", ""))
    assert back == pytest.approx(value, rel=0.006, abs=1)
    back = quantities.size_bytes(units.size(value).replace(",", ""))
    assert back == pytest.approx(value, rel=0.006, abs=1)


@given(st.text(max_size=60))
def test_no_text_is_more_than_refused(text: str) -> None:
    for read in (quantities.duration_ns, quantities.size_bytes):
        found = read(text)
        assert found is None or found >= 0
    for checked in (quantities.percentage, quantities.share):
        try:
            assert checked("--x", text) >= 0
        except Problem as problem:
            assert str(problem).startswith("--x")


@pytest.mark.parametrize(
    ("text", "value"), [("50%", 0.5), ("0.5", 0.5), ("1/2", 0.5), (".01", 0.01)]
)
def test_a_share_is_said_in_three_ways(text: str, value: float) -> None:
    assert quantities.share("cpu-quota", text) == value


@pytest.mark.parametrize("text", ["1", "0", "2", "101%", "1/0", "half", "", "1/2/3", "1%/2"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with wrong("not-a-share", name="cpu-quota", text=text):
        quantities.share("cpu-quota", text)
