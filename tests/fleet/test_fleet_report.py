"""`iowhy fleet report`: where recordings are looked for, what is left out, how it is written, verdicts that are kept."""

import csv
import io
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from iowhy.fleet import judging, verdicts
from iowhy.fleet.members import LeftOut
from iowhy.recordings import Recording
from iowhy.recordings.packer import pack
from iowhy.whys.verdict import judge
from tests.command_line import invoke
from tests.fleet.agents import agent
from tests.fleet.conftest import named
from tests.numbers_told import tells
from tests.problems import asks


@pytest.fixture
def tree(fleet: list[Recording], tmp_path: Path) -> Path:
    """Three recordings as the agent keeps them, one of them packed, beside what is under way."""
    for number, (recording, day) in enumerate(zip(fleet[2:5], (1, 1, 2), strict=True)):
        folder = tmp_path / f"date=2026-11-{day:02}" / f"host=web{number}"
        folder.mkdir(parents=True)
        copied = shutil.copytree(recording.path, folder / "run.iowhy")
        made = named(Recording(Path(copied), recording.manifest), f"web{number}", kernel="6.12.1")
        if number == 1:
            pack(made, folder / "run.iowhy.zip")
            shutil.rmtree(copied)
    under_way = tmp_path / "date=2026-11-02" / "host=web2"
    (under_way / "next.iowhy").mkdir()
    shutil.copytree(fleet[0].path, under_way / ".hidden.iowhy")
    return tmp_path


def listed(*words: str) -> list[dict[str, str]]:
    done = invoke(["fleet", "report", *words, "-f", "csv"])
    assert done.exit_code == 0, done.output + str(done.exception)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_recordings_are_found_below_folders_and_by_patterns(tree: Path) -> None:
    assert {row["host"] for row in listed("threads", str(tree))} == {"web0", "web1", "web2"}
    days = listed("threads", f"{tree}/date=2026-11-01/*/*.iowhy*")
    assert {row["host"] for row in days} == {"web0", "web1"}
    one = tree / "date=2026-11-02" / "host=web2" / "run.iowhy"
    twice = listed("threads", str(one), str(tree / "date=2026-11-02"))
    assert {row["recording"] for row in twice} == {str(one)}


@pytest.mark.parametrize(
    ("where", "id_"),
    [
        ("nowhere", "no-such-recording-or-folder"),
        ("{tree}/nothing*", "nothing-has-such-a-name"),
        ("{tree}/date=2026-11-02/host=web2/next.iowhy", "folder-without-recordings"),
    ],
)
def test_a_word_that_names_no_recording_is_a_problem(tree: Path, where: str, id_: str) -> None:
    word = where.format(tree=tree)
    asks(invoke(["fleet", "report", "files", word]).exception, id_, word=word)


def test_a_damaged_recording_costs_a_line_and_no_other_recording(tree: Path) -> None:
    broken = tree / "date=2026-11-01" / "host=web0" / "run.iowhy"
    file = next((broken / "thread_time").iterdir())
    file.write_bytes(file.read_bytes()[:-20])
    worse = tree / "date=2026-11-01" / "host=web9" / "worse.iowhy"
    worse.mkdir(parents=True)
    (worse / "manifest.json").write_text('{"schema": 99}')
    done = invoke(["fleet", "report", "threads", str(tree), "--json"])
    assert done.exit_code == 0
    assert {row["host"] for row in json.loads(done.stdout)["rows"]} == {"web1", "web2"}
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert "schema 99" in done.stderr and str(broken) in done.stderr


def test_where_nothing_can_be_read_it_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "one.iowhy").mkdir()
    (tmp_path / "one.iowhy" / "manifest.json").write_text("{}")
    done = invoke(["fleet", "report", "files", str(tmp_path)])
    asks(done.exception, "no-readable-recording")


def test_causes_are_those_of_each_verdict(fleet: list[Recording], tree: Path) -> None:
    found = listed("causes", str(tree))
    expected = {
        (one.cause, round(one.share * verdict.shares_of_s * 1e9))
        for verdict in map(judge, fleet[2:5])
        for one in verdict.findings
        if not one.healthy and verdict.shares_of_s
    }
    sums: dict[str, int] = {}
    for cause, elapsed_ns in expected:
        sums[cause] = sums.get(cause, 0) + elapsed_ns
    mine: dict[str, int] = {}
    for row in found:
        mine[row["cause"]] = mine.get(row["cause"], 0) + int(row["elapsed_ns"])
    assert sums and mine == sums
    assert {row["kernel"] for row in found} == {"6.12.1"}
    worst = listed("worst", str(tree))
    assert worst[0]["gain_ns"] == str(max(int(row["gain_ns"]) for row in worst))


def test_causes_are_told_apart_by_the_model_of_the_disk(
    fleet: list[Recording], tmp_path: Path
) -> None:
    """Of the disk that had the most requests."""
    for name, model in (("one", "Fast 9"), ("two", "Slow 1"), ("three", None)):
        copied = Path(shutil.copytree(fleet[3].path, tmp_path / f"{name}.iowhy"))
        file = next((copied / "devices").iterdir())
        table = pq.read_table(file)
        at = table.column_names.index("model")
        models = pa.array([model] * table.num_rows, pa.string())
        pq.write_table(table.set_column(at, "model", models), file)
        named(Recording(copied, fleet[3].manifest), name)
    found = {row["device"].split(", ")[0] for row in listed("causes", str(tmp_path))}
    assert found == {"Fast 9", "Slow 1", "unknown"}


def test_of_a_whole_machine_the_service_is_who_was_blocked_longest(
    fleet: list[Recording], tmp_path: Path
) -> None:
    """As recordings of the agent's triggers are. A thread of the kernel that waits as long, and comes first by its name, is nobody's service."""
    copied = Path(shutil.copytree(fleet[3].path, tmp_path / "one.iowhy"))
    manifest = fleet[3].manifest
    machine = replace(manifest.command, mode="machine", argv=())
    (copied / "manifest.json").write_text(replace(manifest, command=machine).as_json())
    file = next((copied / "threads").iterdir())
    (first, *rest) = pq.read_table(file).to_pylist()
    kernel = {"tid": 7, "tgid": 7, "ppid": 2, "comm": "a"}
    rows = [first, first | kernel, *rest]
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(file)), file)
    times = next((copied / "thread_time").iterdir())
    table = pq.read_table(times)
    more = [row | {"tid": 7, "tgid": 7} for row in table.to_pylist()]
    pq.write_table(pa.concat_tables([table, pa.Table.from_pylist(more, table.schema)]), times)
    assert {row["service"] for row in listed("causes", str(tmp_path))} == {first["comm"]}


def test_counts_of_the_agent_are_not_judged(fleet: list[Recording], tmp_path: Path) -> None:
    """An hour of them beside a recording of seconds would be all of the time."""
    shutil.copytree(fleet[3].path, tmp_path / "full.iowhy")
    alone = listed("causes", str(tmp_path))
    agent(tmp_path / "agent", 1)
    done = invoke(["fleet", "report", "causes", str(tmp_path), "-f", "csv"])
    assert list(csv.DictReader(io.StringIO(done.stdout))) == alone
    assert tells(done.stderr, "2 recordings")
    assert len(listed("verdicts", str(tmp_path))) == len(
        listed("verdicts", str(tmp_path / "full.iowhy"))
    )


def test_a_verdict_is_made_once_and_anew_where_its_recording_changed(
    fleet: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    copied = Path(shutil.copytree(fleet[3].path, tmp_path / "one.iowhy"))
    first = list(verdicts.verdicts([copied], LeftOut()))
    with monkeypatch.context() as patched:
        patched.setattr(verdicts, "_judged", lambda waiting: iter(()) if not waiting else 1 / 0)
        assert list(verdicts.verdicts([copied], LeftOut())) == first
    named(Recording(copied, fleet[3].manifest), "other")
    judged: list[object] = []
    monkeypatch.setattr(
        verdicts,
        "_judged",
        lambda waiting: iter([(n, judged.append(n) or first[0][1]) for n in waiting]),
    )
    list(verdicts.verdicts([copied], LeftOut()))
    assert judged == [0]


def test_a_recording_that_ends_its_judge_costs_no_other_one(
    fleet: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    ending = tmp_path / "sitecustomize.py"
    ending.write_text(
        "import json, os\nloads = json.loads\n"
        "json.loads = lambda text, **more: os._exit(9) if text == ENDING else loads(text, **more)\n"
        f"ENDING = {json.dumps(str(fleet[3].path))!r} + chr(10)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    left_out = LeftOut()
    found = list(verdicts.verdicts([one.path for one in fleet[2:5]], left_out))
    assert sorted(number for number, _ in found) == [0, 2]
    assert "status 9" in left_out.reasons[fleet[3].path]


def test_thread_seconds_are_no_more_than_the_threads_had(fleet: list[Recording]) -> None:
    verdict, found = judge(fleet[3]), judging.judged(str(fleet[3].path))
    assert isinstance(found["findings"], list) and found["findings"]
    assert verdict.budget.thread_s is not None
    times = [one["thread_seconds"] for one in found["findings"]]
    assert 0 < sum(times) <= verdict.budget.thread_s


@pytest.mark.parametrize(
    ("words", "id_", "values"),
    [
        (["files", "--since", "x"], "not-a-moment", {"option": "--since", "text": "x"}),
        (["files", "--until", "25:99"], "not-a-moment", {"option": "--until", "text": "25:99"}),
        (["files", "--container", " "], "container-name-empty", {}),
        (["trend", "--at", "yesterday"], "not-a-time-of-day", {"text": "yesterday"}),
        (["files", "--spark", "foo://x"], "spark-url-unknown", {"url": "foo://x"}),
        (["files", "--spark", ""], "spark-url-unknown", {"url": "(nothing)"}),
    ],
)
def test_what_no_recording_can_be_asked_is_said_once(
    tree: Path, words: list[str], id_: str, values: dict[str, object]
) -> None:
    """Before any is read, and not of each."""
    done = invoke(["fleet", "report", words[0], str(tree), *words[1:]])
    asks(done.exception, id_, **values)
    assert not done.stderr


def test_a_time_that_only_some_recordings_have_leaves_out_the_others(tree: Path) -> None:
    done = invoke(["fleet", "report", "threads", str(tree), "--since", "1.5", "-f", "csv"])
    assert done.exit_code == 0
    assert {row["host"] for row in csv.DictReader(io.StringIO(done.stdout))} == {"web1"}
    assert "--since 1.5: " in done.stderr
