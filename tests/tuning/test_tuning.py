"""Which settings are tried, in which order, and what is said of them."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from iowhy.errors import Problem
from iowhy.experiments.device import Device
from iowhy.experiments.job import Job
from iowhy.experiments.setting import Profile, Setting
from iowhy.experiments.trials import Plan, conduct
from iowhy.mounts import Mount
from iowhy.sentences import worded
from iowhy.tuning import knob, search
from iowhy.tuning.knob import Clues
from iowhy.tuning.knobs import access_times, commit_interval, knobs, program_options
from iowhy.undo import Undo
from iowhy.undo.kinds.entry import Refused
from iowhy.undo.kinds.knobs import WRITE_FILE
from iowhy.undo.kinds.mounts import REMOUNT
from iowhy.views import tune_page
from iowhy.whys import classes
from iowhy.whys.causes import causes
from tests.command_line import invoke
from tests.experiment.fake import Fake
from tests.house import ROOT
from tests.json_schema import broken
from tests.problems import wrong

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/tune.json").read_text())
QUEUE = {"read_ahead_kb": "128", "scheduler": "none [mq-deadline] bfq", "nr_requests": "256",
         "wbt_lat_usec": "75000", "rotational": "0"}  # fmt: skip


@pytest.fixture
def setting(tmp_path, monkeypatch):
    """A device whose queue is a folder; every other setting of the machine cannot be written."""
    for name, value in QUEUE.items():
        (tmp_path / name).write_text(value)

    def queue_file(_, name):
        return tmp_path / name

    for name in ("read_ahead", "scheduler", "queue_depth", "writeback_throttling", "io_priority"):
        monkeypatch.setattr(f"iowhy.tuning.knobs.{name}.queue_file", queue_file)
    mount = Mount("8:0", "/data", "ext4", "/dev/sda", ("rw", "relatime"))
    monkeypatch.setattr(knob, "mount_of", lambda _: mount)
    monkeypatch.setattr(access_times, "mount_of", lambda _: mount)
    monkeypatch.setattr(commit_interval, "mount_of", lambda _: mount)
    monkeypatch.setattr(Setting, "device", Device("sda", 8, 0))
    return Setting(("CMD",), tmp_path, Undo(Path(os.devnull), -1), Profile(1.0, 1.0))


def names(setting, **clues):
    tries, _ = search.ranked(setting, Clues(known=True, **clues))
    return [(one.knob, one.value.then) for one in tries]


def test_who_waits_to_read_gets_more_readahead_first(setting):
    found = names(setting, shares={classes.READ: 0.8})
    assert found[0] == ("read_ahead_kb", "1024") and ("read_ahead_kb", "4096") in found
    assert "vm.dirty_ratio" not in dict(found)


def test_who_reads_pages_in_vain_gets_less(setting):
    found = names(setting, shares={classes.READ: 0.8}, troubles={"jumps": 0.7})
    assert found[0] == ("read_ahead_kb", "16")


def test_nothing_is_read_ahead_past_the_page_cache(setting):
    found = names(setting, shares={classes.READ: 0.8}, direct_reads=0.79)
    assert "read_ahead_kb" not in dict(found) and found[0][0] == "scheduler"


def test_next_to_others_the_scheduler_and_the_priority_come_first(setting):
    shares, troubles = {classes.READ: 0.3}, {"neighbours": 0.6}
    assert names(setting, shares=shares, troubles=troubles)[0] == ("scheduler", "bfq")
    # To mq-deadline all levels of a class are one.
    assert "ionice" not in dict(names(setting, shares=shares, troubles=troubles))
    (setting.directory / "scheduler").write_text("none mq-deadline [bfq]")
    found = names(setting, shares=shares, troubles=troubles)
    assert {one for one, _ in found[:2]} == {"ionice", "scheduler"}


def test_no_setting_is_worth_more_than_what_if_leaves(setting):
    found = names(setting, shares={classes.READ: 0.8}, predicted={"in-memory": 0.99})
    assert "read_ahead_kb" not in dict(found)


def test_what_loses_data_in_a_crash_asks_for_leave(setting):
    shares = {classes.WRITE: 0.9}
    assert "commit" not in dict(names(setting, shares=shares))
    assert dict(names(setting, shares=shares, allow_unsafe=True))["commit"] == "commit=60"


def test_who_only_sleeps_has_nothing_to_try(setting):
    assert names(setting, shares={classes.IDLE: 1.0}) == []


def test_every_setting_says_how_it_is_kept_and_undone(setting):
    for one in knobs().values():
        setting.argv = ("make", "all")
        for value in one.values(setting, Clues(allow_unsafe=True)):
            kept = one.keep(one.level(value).key, setting)
            assert kept.place and kept.text and kept.apply and kept.undo, one.name


@pytest.mark.parametrize(
    ("typed", "then"),
    [(["make", "all"], True), (["make", "-j4"], False), (["xz", "-k", "a"], True), (["ls", "-l"], False),
     (["python3", "-u", "a.py"], ["python3", "a.py"]), (["make"], True)],
)  # fmt: skip
def test_options_of_known_programs(typed, then):
    found = program_options.KNOB.changed(typed)
    assert found == then if isinstance(then, list) else (found is not None) is then


def tuned(slower, noise=0.01, others=None, names=("a", "b", "c")):
    fake = Fake(np.random.default_rng(3), noise=noise, slower=slower)
    tries = [
        search.Try(name, knob.Value("1", "2", 0.5), knob.Level("1 → 2", "2", None))
        for name in names
    ]
    done = conduct({one.name: [one.level] for one in tries}, fake, Plan(1, least=3, most=10))
    request = search.Request(Job(("CMD",), Path()), Clues())
    return search._tuned(request, tries, done, (), others, 1)


def key(name):
    return f"{name} 1 → 2 1 → 2"


def test_the_one_that_helps_most_is_the_answer():
    found = tuned({key("a"): 0.8, key("b"): 0.5, key("c"): 1.5})
    assert found.best == "b 1 → 2"
    assert abs(found.after_s / found.before_s - 0.5) < 0.03
    assert found.faster.low < 2 < found.faster.high
    assert [one.helps for one in found.tried] == [True, True, False]
    said = tune_page.answer(found)
    assert said.startswith("Before ") and said.endswith("by b 1 → 2")


def test_where_nothing_helps_it_says_so():
    found = tuned({})
    assert found.best is None and [one.helps for one in found.tried] == [False] * 3
    assert tune_page.answer(found).startswith("Nothing ")
    said = tune_page.as_document(found)
    assert said["best"] is None and list(broken(SCHEMA, json.loads(json.dumps(said)))) == []


def test_next_to_loud_neighbours_there_is_no_answer():
    found = tuned({key("b"): 0.5}, others=worded("loud-cpus", "No answer"))
    assert found.best is None and found.after_s is None


def entry(path, old):
    return {"path": path, "old": old}


def test_the_journal_takes_these_settings_and_no_others():
    with pytest.raises(Refused):
        WRITE_FILE.check(entry("/sys/devices/virtual/block/loop0/queue/io_timeout", "1"))
    with pytest.raises(Refused):
        WRITE_FILE.check(entry("/sys/kernel/mm/transparent_hugepage/enabled", "always\nx"))
    WRITE_FILE.check(entry("/sys/kernel/mm/transparent_hugepage/enabled", "always"))
    for option in ("noatime", "atime,relatime", "commit=5"):
        REMOUNT.check({"path": "/", "option": option})
    for option in ("suid", "nobarrier", "commit=5,suid"):
        with pytest.raises(Refused):
            REMOUNT.check({"path": mounted(), "option": option})


def mounted():
    """Any mount that is not the system's, nor ours."""
    from iowhy.mounts import mount_points
    from iowhy.undo.kinds.entry import SYSTEM_DIRECTORIES

    return next(one for one in mount_points() if one not in SYSTEM_DIRECTORIES)


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = json.loads(invoke(["tune", "--list", "--json"]).stdout)["settings"]
    assert {row["name"] for row in rows} == set(knobs())
    with wrong("tune-of-what"):
        from iowhy.commands.tune import tune as carry_out
        from iowhy.options.tune import Options

        carry_out(Options(), None)


def test_more_requests_are_held_only_where_a_scheduler_holds_them(setting, tmp_path):
    assert ("nr_requests", "1024") in names(setting, shares={classes.READ: 0.8})
    (tmp_path / "scheduler").write_text("[none] mq-deadline")
    assert "nr_requests" not in dict(names(setting, shares={classes.READ: 0.8}))


def test_a_knob_is_written_for_the_trial_alone(setting, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        setting, "undo", type("U", (), {"write_file": lambda _, path, old: written.append((path.name, old)),
                                        "scope": lambda _: __import__("contextlib").nullcontext()})()
    )  # fmt: skip
    scheduler = knobs()["scheduler"]
    with scheduler.apply(knob.Level("", "none", None), setting) as effect:
        assert (tmp_path / "scheduler").read_text() == "none"
        effect.after(1.0)
        (tmp_path / "scheduler").write_text("kyber")
        with pytest.raises(Problem):
            effect.after(1.0)
    # What the kernel sets anew with it is put back after it.
    assert written == [
        ("nr_requests", "256"),
        ("wbt_lat_usec", "75000"),
        ("scheduler", "mq-deadline"),
    ]


def test_a_priority_is_judged_next_to_loud_neighbours():
    said = worded("loud-cpus", "No answer")
    found = tuned(
        {"cpu-weight 1 → 2 1 → 2": 0.5}, others=said, names=("cpu-weight", "read_ahead_kb")
    )
    assert found.best == "cpu-weight 1 → 2" and found.no_answer is None
    found = tuned(
        {"read_ahead_kb 1 → 2 1 → 2": 0.5}, others=said, names=("cpu-weight", "read_ahead_kb")
    )
    assert found.best is None and found.no_answer is not None


def test_every_trouble_that_a_cause_names_is_one_that_a_setting_asks_for():
    asked = {
        word
        for path in (ROOT / "python/iowhy/tuning").rglob("*.py")
        for word in re.findall(r'trouble\("([^"]+)"\)', path.read_text())
    }
    assert asked == {one.trouble for one in causes() if one.trouble}
