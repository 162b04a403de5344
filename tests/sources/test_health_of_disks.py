"""What disks say of themselves (smartctl, nvme smart-log) and the kernel's own memory (slabtop): written and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numbers_told import tells

from .reading import fixture, quick, read, values

ATTRIBUTES = {
    5: ("Reallocated_Sector_Ct", "reallocated_sectors"),
    9: ("Power_On_Hours", None),
    187: ("Reported_Uncorrect", "reported_uncorrectable"),
    188: ("Command_Timeout", "command_timeouts"),
    197: ("Current_Pending_Sector", "pending_sectors"),
    199: ("UDMA_CRC_Error_Count", "crc_errors"),
}
RAW = st.integers(0, 2**40)


@quick
@given(raw=st.dictionaries(st.sampled_from(sorted(ATTRIBUTES)), RAW), brief=st.booleans(), passed=st.booleans(),
       failing=st.booleans())  # fmt: skip
def test_smartctl(raw: dict[int, int], brief: bool, passed: bool, failing: bool) -> None:
    text = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.44] (local build)\n\n=== START OF READ SMART DATA SECTION ===\n"
    text += (
        f"SMART overall-health self-assessment test result: {'PASSED' if passed else 'FAILED!'}\n\n"
    )
    text += "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"
    now = "FAILING_NOW" if failing else "-"
    for number, value in raw.items():
        name = ATTRIBUTES[number][0]
        if brief:
            text += f"{number:>3} {name:<23} PO--CK   094   094   036    {'NOW' if failing else '-'}    {value}\n"
        else:
            text += f"{number:>3} {name:<23} 0x0033   094   094   036    Pre-fail  Always   {now}       {value} (Min/Max 2/3)\n"
    parsed = read("smartctl", text, "smartctl -a /dev/sdb")
    assert not parsed.rejects
    wanted = {
        metric: float(raw[number])
        for number, (_, metric) in ATTRIBUTES.items()
        if metric is not None and number in raw and (number != 188 or raw[number] < 2**16)
    }
    assert values(parsed, "sdb") == {**wanted, "self_assessment_failed": float(not passed)}
    # What stands at zero speaks against no disk.
    assert any("sdb reports" in note for note in parsed.notes) == (
        any(wanted.values()) or not passed
    )
    assert sum("below its threshold" in note for note in parsed.notes) == len(raw) * failing


@quick
@given(media=st.integers(0, 10**6), used=st.integers(0, 255), spare=st.integers(0, 100), least=st.integers(0, 100),
       warning=st.integers(0, 31), read_units=st.integers(0, 10**9), comma=st.sampled_from(["", ",", "."]), tool=st.booleans())  # fmt: skip
def test_nvme(
    media: int,
    used: int,
    spare: int,
    least: int,
    warning: int,
    read_units: int,
    comma: str,
    tool: bool,
) -> None:
    def digits(number: int) -> str:
        return f"{number:,}".replace(",", comma)

    if tool:
        text = "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\n"
        text += f"critical_warning : {warning:#x}\ntemperature : 42 C (315 Kelvin)\navailable_spare : {spare}%\n"
        text += f"available_spare_threshold : {least}%\npercentage_used : {used}%\ndata_units_read : {digits(read_units)}\n"
        parsed = read("nvme-smart-log", text + f"media_errors : {digits(media)}\n")
        assert values(parsed, "nvme0n1")["lifetime_read_bytes"] == read_units * 512_000
    else:
        text = f"SMART/Health Information (NVMe Log 0x02)\nCritical Warning:    0x{warning:02x}\n"
        text += f"Available Spare:     {spare}%\nAvailable Spare Threshold:   {least}%\nPercentage Used:   {used}%\n"
        text += f"Media and Data Integrity Errors:    {digits(media)}\n"
        parsed = read("smartctl", text, "smartctl -A /dev/nvme0n1")
    assert not parsed.rejects
    found = values(parsed, "nvme0n1")
    assert found["media_errors"] == media and found["critical_warning"] == warning
    assert found["used_share"] == used / 100 and found["spare_least_share"] == least / 100
    speaks = media > 0 or used >= 100 or spare < least or warning > 0
    assert any("nvme0n1 reports" in note for note in parsed.notes) == speaks


def test_real_disks() -> None:
    parsed = fixture("smartctl", "smartctl-5.41-reallocated.txt")
    assert values(parsed, "sda") == {"reallocated_sectors": 8256, "self_assessment_failed": 0}
    parsed = fixture("smartctl", "smartctl-attributes.txt")
    assert values(parsed, "disk")["pending_sectors"] == 3 and "command_timeouts" not in values(
        parsed, "disk"
    )
    assert not parsed.rejects
    parsed = fixture("smartctl", "smartctl-7.0-nvme.txt")
    assert any(tells(note, "1 error") for note in parsed.notes) and parsed.version == "7.0"
    assert (
        values(fixture("nvme-smart-log", "nvme-smart-log.txt"), "nvme0")["error_log_entries"] == 1
    )
    parsed = fixture("nvme-smart-log", "nvme-smart-log-freebsd.txt")
    assert not parsed.tables and any("gave no health log" in note for note in parsed.notes)


CACHES = ("dentry", "ext4_inode_cache", "kmalloc-128", "buffer_head")


@quick
@given(
    rows=st.dictionaries(
        st.sampled_from(CACHES), st.tuples(*[st.integers(0, 10**9)] * 3), min_size=1
    )
)
def test_slabtop(rows: dict[str, tuple[int, int, int]]) -> None:
    whole = sum(size for _, _, size in rows.values()) + 1
    text = " Active / Total Objects (% used)    : 5 / 9 (55.5%)\n Active / Total Slabs (% used)      : 5 / 9 (55.5%)\n"
    text += f" Active / Total Caches (% used)     : 5 / 9 (55.5%)\n Active / Total Size (% used)       : 1.00K / {whole}.00K (9.1%)\n"
    text += " Minimum / Average / Maximum Object : 0.01K / 0.26K / 50.28K\n\n"
    text += "  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n"
    for name, (objects, active, size) in rows.items():
        text += f"{objects} {active}  97%    0.19K  19873       21    {size}K {name}\n"
    parsed = read("slabtop", text)
    assert not parsed.rejects
    for name, (objects, _, size) in rows.items():
        assert values(parsed, name)["objects"] == objects
        assert values(parsed, name)["size_bytes"] == size * 1024
    assert parsed.tables["memory_samples"][0]["slab_bytes"] == whole * 1024
    names = sum(rows[name][2] for name in ("dentry", "ext4_inode_cache") if name in rows)
    assert any("names and inodes take" in note for note in parsed.notes) == (names > 0)


def test_real_slabtops() -> None:
    parsed = fixture("slabtop", "slabtop-3.2.txt")
    assert values(parsed, "dnode_t")["size_bytes"] == 16393056 * 1024
    assert parsed.tables["memory_samples"][0]["slab_bytes"] == pytest.approx(59513018.12 * 1024)
    assert values(fixture("slabtop", "slabtop-etcd.txt"), "dentry")["active_objects"] == 2816596
    assert not fixture("slabtop", "slabtop-4.txt").rejects
