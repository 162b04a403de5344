"""A trigger's recording is kept, and what became of it said, also where the agent ends while it is judged."""

import time
from pathlib import Path

import pytest

from iowhy.agent import capture, retention
from iowhy.agent.capture import Captures, Judged
from iowhy.agent.settings import Settings
from iowhy.agent.triggers import Budget, Fired
from iowhy.recordings.manifest import Manifest


def captures(
    root: Path, monkeypatch: pytest.MonkeyPatch, *judge: str
) -> tuple[Captures, list[Judged]]:
    """Whose recorder is done at once, and who judges as the words say."""

    def recorded(_: Captures, path: Path) -> None:
        path.mkdir(parents=True)
        (path / "manifest.json").write_text(Manifest.made(mode="machine").as_json())

    monkeypatch.setattr(capture, "JUDGE", judge)
    monkeypatch.setattr(Captures, "_from_now", recorded)
    got: list[Judged] = []
    return Captures(Settings(directory=root), Budget(root, 1, 9), got.append, lambda _: None), got


def test_an_agent_that_ends_waits_for_no_verdict_and_keeps_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, got = captures(tmp_path, monkeypatch, "sh", "-c", "exec sleep 600", "judge")
    assert made.ask(Fired("slow", "why")) is None
    end = time.monotonic() + 60
    while made._judge is None and time.monotonic() < end:
        time.sleep(0.01)
    made.end()
    assert not made.under_way()
    (judged,) = got
    assert judged.failed == "the agent ends" and judged.recording is not None
    assert judged.recording.parent.parent.parent == tmp_path and judged.recording.exists()
    assert not any((tmp_path / retention.OPEN).iterdir())


@pytest.mark.parametrize(
    ("script", "failed", "cause"),
    [
        ('echo \'{"answer": "a", "findings": [{"cause": "c"}]}\'', None, "c"),
        ('echo \'{"answer": "a", "findings": []}\'', None, None),
        ("echo broken >&2; exit 2", "broken", None),
    ],
)
def test_what_the_judge_says_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    failed: str | None,
    cause: str | None,
) -> None:
    made, got = captures(tmp_path, monkeypatch, "sh", "-c", script, "judge")
    assert made.ask(Fired("slow", "why")) is None
    assert made._thread is not None
    made._thread.join(60)
    (judged,) = got
    assert (judged.failed, judged.cause) == (failed, cause)
