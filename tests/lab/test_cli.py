"""iowhy lab on the command line, as far as it needs no root."""

import json
import os
from pathlib import Path

import pytest

from iowhy.cli import lab as command
from iowhy.lab import disks, verify
from iowhy.lab.scenarios import scenario, scenarios
from iowhy.lab.stage import Choice
from iowhy.lab.trial import Trial
from iowhy.lab.verify import Check
from iowhy.options.parser import parse
from iowhy.sentences import worded
from iowhy.whys.budget import Budget
from iowhy.whys.chain import link
from iowhy.whys.finding import Finding
from iowhy.whys.remedy import Fix
from iowhy.whys.typed import Commands
from iowhy.whys.verdict import Verdict
from tests.command_line import invoke
from tests.problems import asks, wrong


def lab(*words: str) -> str:
    done = invoke(["lab", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_list_names_everything() -> None:
    text = lab("list")
    listed = json.loads(lab("list", "--json"))
    names = [one.name for one in scenarios()]
    assert [one["name"] for one in listed["scenarios"]] == names
    assert all(name in text for name in names)
    assert set(listed["devices"]) >= {"file", "memory", "hdd"}


def test_list_of_one_tells_its_variants_devices_and_causes() -> None:
    text = lab("list", "smallfiles")
    for said in ("batched", "one syncfs after all are written", "sync-storm", "flush-slow", "xfs"):
        assert said in text
    (one,) = json.loads(lab("list", "smallfiles", "--json"))["scenarios"]
    assert list(one["variants"])[:2] == ["small", "large"]


@pytest.mark.parametrize(
    ("words", "id_", "values"),
    [
        (["list", "nothing"], "no-such-scenario", {"name": "nothing"}),
        (["run", "nothing"], "no-such-scenario", {"name": "nothing"}),
        (
            ["run", "imdb", "--fs", "vfat"],
            "scenario-not-on-filesystem",
            {"fs": "vfat", "name": "imdb"},
        ),
        (
            ["run", "imdb", "--device", "zram"],
            "scenario-not-on-device",
            {"device": "zram", "name": "imdb"},
        ),
        (
            ["run", "imdb", "--variant", "good"],
            "variant-unknown",
            {"name": "good", "scenario": "imdb"},
        ),
        (["verify", "imdb", "nothing"], "no-such-scenario", {"name": "nothing"}),
    ],
)
def test_wrong_words_are_named(
    words: list[str], id_: str, values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iowhy.lab.stage.check_rights", lambda: None)
    asks(invoke(["lab", *words]).exception, id_, **values)


def _checks(*found: str) -> list[Check]:
    """smallfiles, whose broken run is told each of some causes, and whose fix saves 80 % of 10 s."""
    made = []
    for cause in found:
        trials = []
        for name, share, seconds in ((cause, 0.9, 10.0), ("healthy", 0.0, 2.0)):
            ids = scenario("smallfiles").chain
            said = tuple(link("", 1.0, "", "", id_) for id_ in ids)
            fixes = (Fix(worded(scenario("smallfiles").remedy[0], "write larger files"), share),)
            finding = Finding(name, name, share, share, "", 0.9, (), said, (), fixes, None)
            verdict = Verdict(
                "", (finding,), Budget(()), (), (), (), seconds, {}, Commands(Path("x"), "run")
            )
            printed = {"elapsed_s": seconds, "fsync_seconds": seconds / 2}
            trials.append(Trial("smallfiles", "", HDD, seconds, printed, (), verdict, None))
        made.append(verify.check(scenario("smallfiles"), HDD, *trials))
    return made


HDD = Choice("ext4", "hdd")


def test_verify_prints_expected_and_found_beside_what_was_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("iowhy.lab.stage.check_rights", lambda: None)
    monkeypatch.setattr(verify, "verify", lambda *_, **__: iter(_checks("sync-storm", "not-io")))
    done = invoke(["lab", "verify"])
    assert done.exit_code == 1
    lines = [" ".join(line.split()) for line in done.output.splitlines()]
    assert (
        "smallfiles (ext4, hdd) sync-storm sync-storm 90% 90% 80% (1 of 1) healthy 0% ok" in lines
    )
    assert (
        "smallfiles (ext4, hdd) sync-storm not-io 90% 90% 80% (1 of 1) healthy 0% NOT OK" in lines
    )
    assert "smallfiles: share in fsync (%) 90 – 50 50" in lines
    assert "sync-storm not-io 1 wrong" in lines
    assert "1 of 2 scenarios right" in lines


def test_verify_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iowhy.lab.stage.check_rights", lambda: None)
    monkeypatch.setattr(verify, "verify", lambda *_, **__: iter(_checks("sync-storm")))
    made = json.loads(lab("verify", "--json").splitlines()[-1])
    (one,) = made["scenarios"]
    assert (one["name"], one["expected"], one["found"], one["ok"]) == (
        "smallfiles", "sync-storm", "sync-storm", True,
    )  # fmt: skip
    assert (one["share"], one["gain"], one["why_not"]) == (0.9, 0.8, [])
    assert made["ok"] is True and {row["right"] for row in made["confusion"]} == {True}


@pytest.mark.parametrize("words", [["run", "imdb"], ["verify", "imdb"]])
def test_without_root_it_says_so_and_does_nothing(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    asks(invoke(["lab", *words]).exception, "lab-needs-root")


def test_an_emulated_disk_that_was_killed_is_said_so(tmp_path: Path) -> None:
    disk = disks.Disk("hdd", Path("/dev/loop9"), 4096, tmp_path / "gone")
    for ask in (disk.statistics, lambda: disk.pace(True)):
        with wrong("disk-gone", path="/dev/loop9"):
            ask()


def test_the_proof_of_a_run_is_the_same_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iowhy.invocation.as_root", lambda: "sudo iowhy")
    given = ["imdb", "--fs", "xfs", "--seed", "3", "--scale", "0.5"]
    typed = command._with_fix(parse(command.Run, given), "in-order")
    assert typed == "sudo iowhy lab run imdb --variant in-order --fs xfs --seed 3 --scale 0.5"
    again = parse(command.Run, typed.split()[4:])
    assert (again.name, again.variant, again.on.fs) == ("imdb", "in-order", "xfs")
