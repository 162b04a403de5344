"""iowhy.toml, baselines, and what CI systems read: by hand-made recordings, through the command line."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.commands.overview import Overview, overview
from iowhy.errors import Problem
from iowhy.expect.baseline import RUNS, Baseline, Entry, counts, read_baseline
from iowhy.expect.project import read_project
from iowhy.measures import measures, values
from iowhy.project_file import find_project
from iowhy.recordings import Recording, open_recording
from iowhy.relations import Relations
from tests.command_line import Done, invoke
from tests.numbers_told import tells
from tests.problems import asks, wrong

from .test_expectations import syncing

PROJECT = """
baseline = "io.json"
expect = ["cause memory-pressure < 10 %"]

[[command]]
run = "made *"
expect = ["sync_calls <= 10", "calls >= 1"]

[[command]]
run = "other"
expect = ["sync_calls <= 1"]
"""


def why(recording: Path, *words: object) -> Done:
    return invoke(["why", *map(str, words), str(recording)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, not on GitHub whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    # A recording is judged once, however often a baseline is held against it.
    known: dict[tuple[object, ...], Overview] = {}

    def judged(recording: Recording, **options: bool) -> Overview:
        key = (recording.path, *sorted(options.items()))
        if key not in known:
            known[key] = overview(recording, **options)
        return known[key]

    monkeypatch.setattr("iowhy.commands.overview.overview", judged)
    return tmp_path


def made(folder: Path, calls: int, status: int = 0) -> Path:
    story = syncing(calls)
    recording = story.write(folder / f"{calls}-{status}.iowhy")
    path = recording.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["command"] |= {"argv": ["made", "up"], "exit_status": status}
    path.write_text(json.dumps(manifest))
    return recording.path


def test_a_project_expects_of_its_commands_alone(folder: Path) -> None:
    (folder / "iowhy.toml").write_text(PROJECT.replace("baseline", "#"))
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    assert find_project(below) == folder / "iowhy.toml"
    texts = [one.text for one in read_project(folder / "iowhy.toml").expected(["made", "up"])]
    assert texts == ["cause memory-pressure < 10 %", "sync_calls <= 10", "calls >= 1"]
    eleven = made(folder, 11)
    done = why(eleven)
    assert done.exit_code == 3 and done.stderr.startswith("iowhy: expected sync_calls <= 10, found")
    assert why(made(folder, 10)).exit_code == 0
    assert why(eleven, "--config", "/dev/null").exit_code == 0


@pytest.mark.parametrize(
    ("argv", "name", "holds"),
    [
        (["./load"], None, True),
        (["./load", "5", "a b"], None, True),
        (["./loader"], None, False),
        (["nice", "./load"], None, False),
        (["bash", "-euo", "pipefail", "-c", "./load 5"], "./load 5", True),
        (["bash", "-euo", "pipefail", "-c", "./load 5\n"], "nightly", True),
        (["/bin/sh", "-c", "./load"], None, True),
        (["sh", "-o", "errexit", "-ec", "./load", "zero"], None, True),
        (["bash", "--rcfile", "-c", "./load"], None, False),
        (["sh", "./load"], None, False),
        (["python3", "-c", "./load"], None, False),
        (["/tmp/x8/load"], "./load", True),
        ([], None, False),
    ],
)
def test_a_pattern_is_for_a_command_with_and_without_words_from_a_shell_and_by_its_name(
    folder: Path, argv: list[str], name: str | None, holds: bool
) -> None:
    path = folder / "iowhy.toml"
    path.write_text('[[command]]\nrun = "./load *"\nexpect = ["sync_calls <= 10"]')
    project = read_project(path)
    assert bool(project.expected(argv, name)) == holds == project.knows(argv, name)


def test_a_project_that_says_nothing_of_the_command_is_not_kept_to(folder: Path) -> None:
    Path("iowhy.toml").write_text(PROJECT.replace("baseline", "#").replace("made *", "make *"))
    recording = made(folder, 11)
    done = why(recording)
    assert done.exit_code == 0
    assert tells(done.stderr.splitlines()[0], "iowhy.toml", "made up")
    named = why(recording, "--name", "make all", "--annotate", "github")
    assert named.exit_code == 3 and "no [[command]]" not in named.stderr
    warned = why(recording, "--annotate", "github", "--name", "100 %")
    assert re.search(r"\n::warning title=iowhy::.*iowhy\.toml.* 100 %25", warned.stderr)
    Path("iowhy.toml").write_text("expect = ['sync_calls <= 11']")
    assert "iowhy.toml" not in why(recording).stderr


@pytest.mark.parametrize(
    ("text", "where", "id_"),
    [
        ("a = 1\nexpects = []", ":1: a: ", "project-key-unknown"),
        ("\nexpect = ['sync_call <= 1']", ":2: expect 'sync_call <= 1': ", "no-such-measure"),
        ("expect = 'calls <= 1'", ":1: expect: ", "project-expect-not-a-list"),
        ("\n[[command]]\nexpect = []", ":2: command: ", "project-command-without-run"),
        ("[command]\nrun = 'x'", ":1: command: ", "project-command-not-a-list"),
        ("[[command]]\nrun = 'x'\n\ncmd = 2", ":4: cmd: ", "project-key-unknown"),
        ("baseline = '../x'", ":1: baseline: ", "project-baseline-elsewhere"),
        ("expect = [", ": ", "not-toml"),
    ],
)
def test_what_is_wrong_in_it_is_named_with_its_line(
    folder: Path, text: str, where: str, id_: str
) -> None:
    path = folder / "iowhy.toml"
    path.write_text(text)
    with wrong(id_) as found:
        read_project(path)
    assert str(found.value).startswith(f"{path}{where}")
    assert "\n" not in str(found.value)


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_any_text_is_a_project_or_a_problem(tmp_path_factory, text) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path_factory.mktemp("any") / "iowhy.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    for read in (read_project, read_baseline):
        try:
            read(path)
        except Problem:
            continue


def test_a_count_is_held_once_it_was_equal_in_three_runs(folder: Path) -> None:
    ten, eleven = made(folder, 10), made(folder, 11)
    for run in range(RUNS):
        assert why(eleven, "--baseline", "io.json").exit_code == (
            0 if run else 1
        )  # none is there yet
        assert why(ten, "--baseline", "io.json", "--update").exit_code == 0
    assert why(ten, "--baseline", "io.json").exit_code == 0
    broken = why(eleven, "--baseline", "io.json")
    assert (
        broken.exit_code == 3 and "expected sync_calls <= 10 (io.json), found 11" in broken.stderr
    )
    # One more is not noise, and not held before it was there three times.
    said = why(eleven, "--baseline", "io.json", "--update").stderr
    assert "sync_calls" in said
    assert why(eleven, "--baseline", "io.json").exit_code == 0
    for _ in range(RUNS - 1):
        why(eleven, "--baseline", "io.json", "--update")
    assert read_baseline(Path("io.json")).commands["made up"]["sync_calls"].values == (11, 11, 11)
    assert why(made(folder, 12), "--baseline", "io.json").exit_code == 3


def test_a_baseline_that_does_not_know_the_run_holds_nothing_and_says_so(folder: Path) -> None:
    ten = made(folder, 10)
    why(ten, "--baseline", "io.json", "--update", "--name", "mine")
    unknown = why(ten, "--baseline", "io.json", "--name", "mien")
    assert unknown.exit_code == 2 and tells(unknown.stderr, "io.json", "mien")
    assert (
        why(
            ten, "--baseline", "io.json", "--name", "mien", "--expect", "sync_calls <= 10"
        ).exit_code
        == 2
    )
    known = why(ten, "--baseline", "io.json", "--name", "mine")
    assert known.exit_code == 0 and tells(known.stderr, "io.json", "1", "3")


def test_a_baseline_that_cannot_be_kept_costs_no_verdict(folder: Path) -> None:
    done = why(made(folder, 10), "--baseline", "nowhere/io.json", "--update")
    assert done.exit_code == 2 and "nowhere/io.json" in done.stderr and done.stdout


def test_no_time_and_no_failed_run_gets_into_a_baseline(folder: Path) -> None:
    failed = why(made(folder, 10, status=1), "--baseline", "io.json", "--update")
    assert "io.json" in failed.stderr and not Path("io.json").exists()
    why(made(folder, 10), "--baseline", "io.json", "--update", "--name", "mine")
    kept = read_baseline(Path("io.json")).commands["mine"]
    assert {measures()[name].unit for name in kept} == {"count", "bytes"}
    assert "sync_calls" in kept and "device.write_mean_bytes" not in kept


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=5),
    st.sampled_from([None, "+0", "+3", "+10 %"]),
    st.integers(0, 10**12),
)
def test_what_is_held_is_what_was_seen_and_may_be_added(
    runs: list[int], may_grow: str | None, value: int
) -> None:
    entry = Entry((), may_grow)
    for one in runs:
        entry = entry.with_run(one)
    held = Baseline(Path("io.json"), {"x": {"calls": entry}}).expected("x")
    last = runs[-RUNS:]
    if may_grow is None:
        assert bool(held) == (len(last) == RUNS and len(set(last)) == 1)
    most = max(last) * 1.1 if may_grow == "+10 %" else max(last) + int((may_grow or "+0")[1:])
    for one in held:
        assert one.holds(value) == (value <= most) and one.holds(max(last))


def test_a_baseline_survives_its_file_and_the_tolerances_in_it(tmp_path: Path) -> None:
    path = tmp_path / "io.json"
    entries = {"calls": Entry((1, 2, 3), "+5 %"), "sync_calls": Entry((0,))}
    Baseline(path, {'a "b" ü\n': entries, "c": {}}).save()
    assert read_baseline(path).commands == {'a "b" ü\n': entries, "c": {}}
    assert read_baseline(path).with_run("c", {"calls": 5}).commands["c"] == {"calls": Entry((5,))}


@pytest.mark.parametrize(
    ("text", "id_", "values"),
    [
        ("{", "baseline-not-json", {}),
        ("[]", "baseline-of-another-version", {"version": 1}),
        ('{"version": 1}', "baseline-commands-not-counts", {}),
        (
            '{"version": 1, "commands": {"a": {"cals": {"values": []}}}}',
            "no-such-count",
            {"where": "io.json: a: cals"},
        ),
        (
            '{"version": 1, "commands": {"a": {"calls": {"values": [1.5]}}}}',
            "values-not-counts",
            {"where": "io.json: a: calls"},
        ),
        (
            '{"version": 1, "commands": {"a": {"calls": {"values": [1], "may_grow": "5"}}}}',
            "not-a-fail-on",
            {"option": "io.json: a: calls: may_grow", "text": "calls > 5"},
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_baseline_that_is_none_is_one_line(
    text: str, id_: str, values: dict[str, object]
) -> None:
    Path("io.json").write_text(text)
    with wrong(id_, **values) as found:
        read_baseline(Path("io.json"))
    assert str(found.value).startswith("io.json: ")


def test_junit_has_a_case_for_each_and_is_never_written_over(folder: Path) -> None:
    recording = made(folder, 11)
    asked = ["--expect", "sync_calls <= 10", "--expect", "calls > 0", "--expect", "extents < 2"]
    why(recording, *asked, "--junit", "io.xml", "--name", "a<b\x1b")
    suite = ElementTree.parse("io.xml").getroot()[0]
    assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [case.get("name") for case in suite] == ["sync_calls <= 10", "calls > 0", "extents < 2"]
    assert [[inner.tag for inner in case] for case in suite] == [["failure"], [], ["error"]]
    assert "found 11" in str(suite[0][0].text) and suite.get("name") == "a<b\\x1b"
    again = why(recording, *asked, "--junit", "io.xml")
    asks(again.exception, "file-exists", path="io.xml")


def test_github_gets_ten_annotations_and_a_summary(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = made(folder, 100)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    asked = [word for most in range(12) for word in ("--expect", f"sync_calls <= {most}")]
    done = why(recording, *asked, "--name", "[x](http://a) <b> | `c`")
    lines = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert len(lines) == 10 and all(line.startswith("::error title=iowhy::") for line in lines)
    assert tells(lines[-1], "3") and tells(lines[0], "sync_calls <= 0", "100")
    text = Path("summary.md").read_text()
    assert text.count("❌") == 12 and not set("[]<>`") & set(text)
    quiet = why(recording, *asked, "--annotate", "none")
    assert "::" not in quiet.stderr and quiet.exit_code == 3


def test_percent_signs_of_an_annotation_are_escaped(folder: Path) -> None:
    done = why(made(folder, 100), "--expect", "cause healthy > 3 %", "--annotate", "github")
    assert re.search("::error title=iowhy::.*cause healthy > 3 %25.* 0 %25", done.stderr)


def test_json_holds_every_measure(folder: Path) -> None:
    document = json.loads(why(made(folder, 10), "--json").stdout)
    assert set(document["measures"]) == set(measures())
    assert document["measures"]["sync_calls"] == 10 and document["measures"]["extents"] is None


def test_what_the_filesystem_decides_is_no_count_of_a_run() -> None:
    """In how many pieces a file lies depends on where space was free: a baseline that held it would fail by chance."""
    recording = open_recording(Path(__file__).parents[2] / "docs/recordings/scattered.iowhy.zip")
    with Relations(recording) as relations:
        assert values(relations, [measures()["extents"]])["extents"] == 15_218
    found = counts(recording)
    assert "sync_calls" in found and "extents" not in found
