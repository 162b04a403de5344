"""Small texts as people post them (names replaced): file → cause and numbers. What is not there today is a mended kind, not a case."""

from pathlib import Path

import pytest

from tests.numbers_told import tells

from .reading import verdict

PASTES = Path(__file__).parent / "pastes"
#: The cause of the first finding (None: none), and the numbers that the first sentence has.
RIGHT: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "wrapped-80": ("device-saturated", ("1.34 s", "100 %")),
    "whole-machine-cpu": ("device-slow", ("99 ms", "88.8 ms", "57.9 ms", "64 %")),
    "fiofdatasync": ("sync-storm", ("94 %", "4,557")),
    "top-100-sys": ("cpu-saturated", ("100 %",)),
    "header-without-rows": ("device-saturated", ("32.4 ms", "98 %")),
    "ps-auxm": (None, ("2", "4711")),
    "bold": ("device-saturated", ("1.34 s", "100 %")),
    "backtick": ("device-saturated", ("1.34 s", "100 %")),
    "iotopk": (None, ("2437", "100 %")),
    "sarzh": (None, ("0.5", "14.4 ms", "0.6 %")),
    "weekday": (None, ("98 %", "8.7 ms", "1.04")),
    "nfsiostat-no-colon": (None, ("9.88 ms", "0.687", "3.77 ms", "1.71")),
    "notopline": (None, ("75 %", "55.7 MiB", "917 MiB")),
    "ddpos": (None, ("100 MiB", "4.53 MB/s")),
    "cpuonly": (None, ("50 %",)),
    "sysbenchshort": (None, ("7.26 MB/s", "4.83 MB/s")),
    "oneline": (None, ("95 %", "10.8 ms", "5.2 ms", "2.5")),
    "prefix-journal": ("device-saturated", ("70 %", "144 KiB")),
    "slow-at-low-use": ("device-slow", ("16.4 ms", "86.1 ms", "21 %")),
    "dockerstats2": (None, ("97 %", "1.02 GiB")),
    "htop": (None, ("2", "4711", "4712")),
    "pressure-log": (None, ("62 %", "10 s")),
    "ceph-log": (None, ("65 s",)),
    "explain-timings": (None, ("61 %", "21.7 s")),
    "ata-medium": ("device-failing", ("1",)),
    "oomd-log": (None, ("67 %",)),
    "nfsstat": (None, ("18 %",)),
    "ceph-osd-df": (None, ("94 %", "95 %")),
    "lvs-thin": (None, ("100 %",)),
    "multipath": (None, ("1",)),
    "smartctl-sas": ("device-failing", ("41",)),
    "pt-query-digest": (None, ("71 %",)),
    "pg-duration": (None, ("2.41 s", "4")),
    "mysql-slow-log": (None, ("3.11 s", "2")),
    "k3s-slow-sql": (None, ("2.2 s", "2")),
    "mongo-slow-query": (None, ("3.91 s",)),
    "dool": (None, ("62 %",)),
    "strace-c-cpu": (None, ("10,039",)),
    "critical-medium": ("device-failing", ("2",)),
    "sar-d-steady": (None, ("3,010", "3", "4", "41")),
    "fio-terse": (None, ("55.2 µs", "17,964")),
    "fio-terse-writes": (None, ("144 µs", "4.52 µs")),
    "mountstats": (None, ("8.4 ms", "420 ms")),
    "btrfs-device-stats": ("device-failing", ("1,531",)),
    "mdadm-detail": (None, ("1",)),
    "proc-stack": (None, ("4211",)),
    "esxtop": (None, ("vmhba0", "1.8 s")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_paste_says(tmp_path: Path, name: str) -> None:
    cause, numbers = RIGHT[name]
    found = verdict(tmp_path, (PASTES / f"{name}.txt").read_text())
    assert next((one.cause for one in found.findings), None) == cause
    assert tells(found.headline, *numbers), found.headline
    assert not any(one.healthy for one in found.findings)


@pytest.mark.parametrize(("name", "steady"), [("sar-d-steady", True), ("sar-d-own-rate", False), ("sar-d-uneven", False)])  # fmt: skip
def test_a_rate_that_stays_is_a_limit_if_volumes_are_sold_with_it(tmp_path: Path, name: str, steady: bool) -> None:  # fmt: skip
    found = verdict(tmp_path, (PASTES / f"{name}.txt").read_text())
    assert (getattr(found.headline, "id", None) == "steady-rate") == steady


@pytest.mark.parametrize("name", ["nfsstat-calm", "ceph-osd-df-calm", "multipath-calm", "lvs-calm"])
def test_what_is_calm_is_neither_wrong_nor_healthy(tmp_path: Path, name: str) -> None:
    found = verdict(tmp_path, (PASTES / f"{name}.txt").read_text())
    assert not found.findings
    assert not tells(found.headline, "18 %") and not tells(found.headline, "95 %", "94 %")


def test_each_paste_has_its_values() -> None:
    assert {path.stem for path in PASTES.glob("*.txt")} >= set(RIGHT)


def test_where_nothing_can_be_read_there_is_no_cause(tmp_path: Path) -> None:
    """Half of the rows lack cells in the middle: the verdict says how many, and nothing else."""
    head = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 1 0 1 0 0 98\n\n"
    whole = verdict(
        tmp_path / "a", (cpu + head + "sda 1 1 9 9 1 1 0.1 1\nsdb 1 1 9 9 1 1 0.1 1\n\n") * 3
    )
    assert whole.findings[0].healthy
    cut = verdict(tmp_path / "b", (cpu + head + "sda 1 1 9 9 1 1 0.1 1\nsdb 1 1 9 9\n\n") * 3)
    assert cut.findings == () and tells(cut.headline, "3", "9")


def test_a_value_of_100_touches_the_one_before() -> None:
    from iowhy.sources.formats.top import _shares

    assert (
        _shares("0.0%us,100.0%sy,  0.0%ni,  0.0%id,  0.0%wa,  0.0%hi,  0.0%si,  0.0%st")["system"]
        == 100
    )
    assert (
        _shares("0,0 us, 0,0 sy,  0,0 ni,  0,0 id,100,0 wa,  0,0 hi,  0,0 si,  0,0 st")["iowait"]
        == 100
    )


#: The words of procps' and sysstat's own catalogues, in their order.
VMSTAT = {
    "de": "r b swpd frei Puffer Cache si so bi bo in cs us sy id wa st",
    "ko": "r b 스왑 가용 버퍼 캐시 si so bi bo in cs us sy id wa st",
    "fr": "r b swpd libre tampon cache si so bi bo in cs us sy id wa st",
    "pl": "dz bl swap wolna bufor cache si so bl-we bl-wy prz zk uż sy be io zab",
    "sv": "k b växl fritt buff cache iv uv bi bo in kb an sy ia vä st",
    "zh_CN": "r b 交换 空闲 缓冲 缓存 si so bi bo in cs us sy id wa st",
}
AVERAGES = ("平均时间:", "平均時間：", "平均値:", "평균값:", "Durchschn.:", "Moyenne :", "Średnia:", "Média:", "Genomsnitt:", "Середнє:", "Среднее:", "Media:")  # fmt: skip
TIMES = {
    "en": ("10:00:0{} AM", "10:00:0{}"),
    "zh_CN": ("10时00分0{}秒",),
    "zh_TW": ("下午 10時00分0{}秒",),
    "ko": ("오후 10시 00분 0{}초",),
    "hi": ("10:00:0{} पूर्वाह्न",),
    "en_IN": ("10:00:0{}  AM",),
}


@pytest.mark.parametrize("language", VMSTAT)
def test_vmstat_in_other_languages(tmp_path: Path, language: str) -> None:
    rows = "1 4 0 90000 1000 500000 0 0 0 9000 100 200 2 3 5 90 0\n" * 6
    text = "proc. ---pamięć--- -swap- -we/wy- -syst- -cpu-\n" + VMSTAT[language] + "\n" + rows
    found = verdict(tmp_path, text)
    assert found.budget.elapsed("waiting to write") == pytest.approx(0.9)
    assert "sda" not in found.headline


@pytest.mark.parametrize("language", TIMES)
def test_sar_in_other_languages(tmp_path: Path, language: str) -> None:
    for at, form in enumerate(TIMES[language]):
        text = f"Linux 6.1.0 (h) \t2026年11月02日 \t_x86_64_\t(4 CPU)\n\n{form.format(1)} CPU %user %nice %system %iowait %steal %idle\n"
        text += "".join(
            f"{form.format(s)} all 1.00 0.00 2.00 60.00 0.00 37.00\n" for s in (2, 3, 4)
        )
        text += f"{AVERAGES[at]} all 1.00 0.00 2.00 60.00 0.00 37.00\n"
        found = verdict(tmp_path / str(at), text)
        assert found.elapsed_s == pytest.approx(3) and tells(found.headline, "60 %"), found.headline


def test_averages_in_other_languages(tmp_path: Path) -> None:
    for at, word in enumerate(AVERAGES):
        text = f"{word} CPU %user %nice %system %iowait %steal %idle\n{word} all 1.00 0.00 2.00 60.00 0.00 37.00\n"
        assert tells(verdict(tmp_path / str(at), text).headline, "60 %"), word


def test_top_in_other_languages(tmp_path: Path) -> None:
    for at, states in enumerate(
        ("us sy ni id wa hi si st", "ut sy ni id wa hi si st", "uż sy ni be io hi si zb")
    ):
        shares = zip(
            ("1,0", "2,0", "0,0", "7,0", "90,0", "0,0", "0,0", "0,0"), states.split(), strict=True
        )
        text = "%CPU: " + ", ".join(f"{value} {name}" for value, name in shares) + "\n"
        text += "MiB Mem :  917,0 razem,  45,0 wolna,  820,0 użyte,  52,0 bufor/cache\nMiB Swap:  0,0 razem,  0,0 wolna,  0,0 użyte.\n"
        assert tells(verdict(tmp_path / str(at), text).headline, "90 %", "45 MiB", "917 MiB")


def test_iostat_in_other_languages() -> None:
    from .reading import taken_apart, values

    text = "Dispositivo:  tps    kB_leídos/s  kB_escritos/s    kB_leídos  kB_escritos\nsda  12,50  100,00  200,00  10  20\n"
    (part,) = taken_apart(text).parts
    assert part.parsed.rejects == []
    assert values(part.parsed, "sda")["written_bytes_per_s"] == 200 * 1024


@pytest.mark.parametrize(("name", "known"), [("fio-terse", True), ("fio-terse-writes", False)])
def test_time_that_terse_output_does_not_list_is_nobody_s(tmp_path: Path, name: str, known: bool) -> None:  # fmt: skip
    """fio prints no syncs there: of a job that writes, the rest of the run is unknown, not idle."""
    found = verdict(tmp_path, (PASTES / f"{name}.txt").read_text())
    assert found.budget.known == known
