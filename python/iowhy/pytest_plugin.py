"""The pytest plugin: what tests cost in I/O, recorded and held against counts. See docs/ci.md.

Nothing heavy is imported before a test is recorded: pytest loads this in every project of the environment.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.sources.aside import aside

if TYPE_CHECKING:
    from iowhy.expect import Expectation, Outcome
    from iowhy.expect.baseline import Baseline
    from iowhy.recordings import Recording

_PROPERTY = "iowhy."
_LISTED = 10  # tests in the summary, those with the most syncs first
_MARKER = (
    "iowhy(*expectations, **counts): record this test and fail it where it costs more, e.g. "
    "iowhy(sync_calls=10), iowhy('device.written_bytes <= 2 MiB')"
)
_BARE = (
    "a mark without an expectation holds the test to nothing: give one, as in "
    "@pytest.mark.iowhy(sync_calls=10), or --iowhy-fail-on-increase"
)


class UnheldWarning(UserWarning):
    """A mark that says of nothing how much it may be."""


class UnknownWarning(UserWarning):
    """An expectation that cannot be known here; `-W error::iowhy.pytest_plugin.UnknownWarning` fails the test."""


class Run(Struct):
    """What was recorded of a block; there once the block has ended."""

    path: Path
    recording: "Recording | None" = None
    _values: dict[str, float | None] = field(default_factory=dict)

    @property
    def measures(self) -> Mapping[str, float | None]:
        """All measures by name (`iowhy run --expect list`); None for what is not known."""
        if not self._values:
            with aside():
                self._values = self._asked()
        return self._values

    def _asked(self) -> dict[str, float | None]:
        from iowhy.measures import measures, values
        from iowhy.relations import Relations

        recording = self._ended()
        with recording.damage_named(), Relations(recording) as relations:
            return values(relations, measures().values())

    def __getitem__(self, name: str) -> float:
        """A measure. Skips the test if not known, and says why."""
        with aside(), _problems_fail():
            from iowhy.measures import find

            measure = find(name)
            value = self.measures[measure.name]
            why = self._why(measure.sensor) if value is None else ""
        if value is None:
            pytest.skip(f"iowhy: {name} is not known here: {why}")
        return value

    def expect(self, *texts: str) -> None:
        """Fails the test where an expectation is broken, in one line; warns where it cannot be known."""
        with aside():
            with _problems_fail():
                recording = self._ended()
            _hold(recording, _read("run.expect", texts, {}))

    def _ended(self) -> "Recording":
        if self.recording is None:
            raise Problem("recording-goes-on")
        return self.recording

    def _why(self, sensor: str) -> str:
        told = (s.why for s in self._ended().manifest.sensors if s.name == sensor and not s.ran)
        return next(told, None) or f"{sensor} did not run"


class Recorder(Struct, frozen=True):
    """The fixture: records blocks of a test."""

    folder: Path

    @contextmanager
    def recording(self) -> Iterator[Run]:
        """Records this process, and what it starts, while the block runs."""
        with aside():
            from iowhy.free_name import free_name

            place = free_name(self.folder, "test")
        with _recorded(place) as run:
            yield run


@pytest.fixture
def iowhy(tmp_path: Path) -> Recorder:
    """`with iowhy.recording() as run: …`, then `run["sync_calls"]` or `run.expect("sync_calls <= 10")`."""
    return Recorder(tmp_path)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("iowhy", "iowhy: what tests cost in I/O")
    group.addoption("--iowhy", action="store_true", help="Record each test.")
    group.addoption(
        "--iowhy-fail-on-increase",
        action="store_true",
        help="Record each test and fail it where a count of --iowhy-baseline grew.",
    )
    group.addoption(
        "--iowhy-baseline",
        metavar="FILE",
        default="iowhy-tests.json",
        help="Counts of tests before (iowhy-tests.json, next to pytest's own configuration).",
    )
    group.addoption(
        "--iowhy-update", action="store_true", help="Record each test and add it to the baseline."
    )
    group.addoption("--iowhy-keep", metavar="DIR", help="Keep the recordings in this directory.")


def pytest_configure(config: pytest.Config) -> None:
    """Reads the baseline before any test runs."""
    config.addinivalue_line("markers", _MARKER)
    try:
        config.pluginmanager.register(_Session(config), "iowhy-session")
    except Problem as problem:
        raise pytest.UsageError(f"iowhy: {problem}") from None


class _Session:
    """One session of tests: what is asked of it, and what was found."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.getoption
        self.update = bool(option("--iowhy-update"))
        self.increase = bool(option("--iowhy-fail-on-increase"))
        self.every = bool(option("--iowhy")) or self.update or self.increase
        self.keep = None if option("--iowhy-keep") is None else Path(option("--iowhy-keep"))
        if self.keep is not None:
            _make(self.keep)
        self.worker = hasattr(config, "workerinput")  # of pytest-xdist
        self.found: dict[str, dict[str, int]] = {}
        self.blind: dict[str, set[str]] = {}
        self.baseline: Baseline | None = None
        if self.update or self.increase:
            from iowhy.expect.baseline import read_baseline

            path = config.rootpath / option("--iowhy-baseline")
            self.baseline = read_baseline(path, new=self.update, update="--iowhy-update")
            why = _no_place(path.parent) if self.update else None
            if why is not None:
                raise Problem("pytest-baseline-unusable", path=path, why=why)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Records the test itself, not its fixtures."""
        marks = list(item.iter_markers("iowhy"))
        if not marks and not self.every:
            return (yield)
        expected = [
            one for mark in marks for one in _read("@pytest.mark.iowhy", mark.args, mark.kwargs)
        ]
        if self.baseline is not None and not self.update:
            expected += self.baseline.expected(item.nodeid)
        if marks and not expected and self.baseline is None and self.keep is None:
            _warn(UnheldWarning(f"iowhy: {_BARE}"))
        with _place(self.keep, item.nodeid) as place:
            with _recorded(place) as run:
                result = yield
            recording = run.recording
            assert recording is not None
            with aside(), _problems_fail():
                self._note(item, recording)
            _hold(recording, expected)
        return result

    def _note(self, item: pytest.Item, recording: "Recording") -> None:
        """The counts travel with the report, also from a worker of pytest-xdist, and into JUnit as properties."""
        from iowhy.expect.baseline import counts

        for name, value in counts(recording).items():
            item.user_properties.append((_PROPERTY + name, value))
        for sensor in recording.manifest.sensors:
            if not sensor.ran:
                text = f"{sensor.name}: {sensor.why or 'did not run'}"
                item.user_properties.append((f"{_PROPERTY}unseen", text))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gathers what was counted."""
        if report.when != "call":
            return
        found: dict[str, int] = {}
        for key, value in report.user_properties:
            if key == f"{_PROPERTY}unseen":
                sensor, _, why = str(value).partition(": ")
                self.blind.setdefault(why, set()).add(sensor)
            elif key.startswith(_PROPERTY) and isinstance(value, int):
                found[key.removeprefix(_PROPERTY)] = value
        if found and report.passed:
            self.found[report.nodeid] = found

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The tests with the most syncs, and what could not be seen."""
        out = terminalreporter
        if ((self.found and self.every) or self.blind) and not self.worker:
            out.section("iowhy")
            most = sorted(self.found.items(), key=_weight, reverse=True)
            for name, found in most[:_LISTED] if self.every else ():
                out.write_line(f"{name}: {_counts(found)}")
            if self.every and len(most) > _LISTED:
                out.write_line(f"and {len(most) - _LISTED} more that sync and write less")
            for why, sensors in sorted(self.blind.items()):
                out.write_line(f"not seen: {', '.join(sorted(sensors))}: {why}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """--iowhy-update: the counts of the tests that passed, once pytest has said what became of all."""
        result = yield
        if self.worker or not self.update or self.baseline is None or not self.found:
            return result
        kept = self.baseline
        for name, found in self.found.items():
            kept = kept.with_run(name, found)
        try:
            kept.save("--iowhy-baseline")
        except Problem as problem:  # the disk is full, say
            pytest.exit(f"iowhy: {problem}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        return result


@contextmanager
def _recorded(place: Path) -> Iterator[Run]:
    """Records the block; the recording is there when it has ended."""
    with aside():
        from iowhy.sources.this_process import recorded

    run = Run(place)
    block = recorded(place)

    def end(*raised: Any) -> bool | None:
        with _problems_fail():
            return block.__exit__(*raised)

    with ExitStack() as stack:
        with _problems_fail():
            block.__enter__()
        stack.push(end)
        yield run
    with aside(), _problems_fail():
        from iowhy.recordings import open_recording

        run.recording = open_recording(place)


@contextmanager
def _place(keep: Path | None, name: str) -> Iterator[Path]:
    """Where the recording of a test goes; it is removed after the test unless it is kept."""
    if keep is None:
        folder = Path(tempfile.mkdtemp(prefix="iowhy-pytest-"))
        try:
            yield folder / "test.iowhy"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    from iowhy.free_name import free_name

    yield free_name(keep, "".join(one if one.isalnum() or one in "-_." else "_" for one in name))


def _make(keep: Path) -> None:
    """Makes the folder of the recordings. Raises Problem where it cannot be, before any test runs."""
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem("pytest-keep-unusable", keep=keep, error=error.strerror or error) from None


def _read(place: str, texts: Sequence[str], counts: Mapping[str, object]) -> "list[Expectation]":
    """The expectations of a mark, or of another place: `device__written_bytes='2 MiB'` is `device.written_bytes <= 2 MiB`."""
    from iowhy.expect import read_expectation

    asked = [str(text) for text in texts]
    asked += [f"{name.replace('__', '.')} <= {value}" for name, value in counts.items()]
    with _problems_fail():
        return [read_expectation(place, text) for text in asked]


@contextmanager
def _problems_fail() -> Iterator[None]:
    """What makes no sense, or cannot be recorded or read, fails the test in one line."""
    try:
        yield
    except Problem as problem:
        raise pytest.fail.Exception(f"iowhy: {problem}", pytrace=False) from None


def _hold(recording: "Recording", expected: "Sequence[Expectation]") -> None:
    """Fails the test with a line for each that is broken, and the answer; warns of what is not known."""
    if not expected:
        return
    with aside(), _problems_fail():
        from iowhy.expect import outcomes
        from iowhy.whys.verdict import judge

        verdict = judge(recording) if any(one.cause for one in expected) else None
        found: list[Outcome] = outcomes(recording, verdict, expected)
    said = [f"iowhy: {one.sentence}" for one in found]
    broken = [text for text, one in zip(said, found, strict=True) if one.held is False]
    unknown = [text for text, one in zip(said, found, strict=True) if one.held is None]
    if broken:
        with aside(), _problems_fail():
            verdict = verdict or judge(recording)
        if any(not one.healthy for one in verdict.findings) and not verdict.too_short:
            broken.append(f"iowhy: {verdict.answer}")
        pytest.fail("\n".join(broken), pytrace=False)
    for text in unknown:
        _warn(UnknownWarning(text))


def _warn(warning: Warning) -> None:
    """A warning of the test, or, with -W error, its failure in one line."""
    try:
        warnings.warn(warning, stacklevel=3)
    except type(warning):
        raise pytest.fail.Exception(str(warning), pytrace=False) from None


def _no_place(folder: Path) -> str | None:
    """Why no file can be written in a folder, if that is so."""
    if not folder.is_dir():
        return f"{folder} is not a directory"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written"


def _weight(named: tuple[str, Mapping[str, int]]) -> tuple[int, int]:
    return named[1].get("sync_calls", 0), named[1].get("device.written_bytes", 0)


def _counts(found: Mapping[str, int]) -> str:
    from iowhy import units
    from iowhy.measures import find

    shown = [
        name
        for name in ("sync_calls", "calls", "written_bytes", "device.written_bytes")
        if name in found
    ]
    return ", ".join(
        f"{find(name).title} {units.amount(found[name], find(name).unit)}" for name in shown
    )
