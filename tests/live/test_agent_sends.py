"""What the agent sends: its recordings to an object store, the verdict of one to a webhook, metrics to a collector."""

import signal
from pathlib import Path

import pytest

from iowhy.agent import capture
from iowhy.recordings import open_recording
from iowhy.recordings.object_store import below, path_of
from running_agent import agent, counts, within
from tests.agent.collector import collector, told
from tests.agent.lasting_store import BUCKET, lasting_store
from tests.agent.webhooks import listening
from tests.object_store import KEYS

pytestmark = pytest.mark.usefixtures("live")


def test_recordings_are_in_the_store_when_it_has_ended_and_a_verdict_is_at_its_webhook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    root = tmp_path / "agent"
    with (
        lasting_store(tmp_path / "store") as store,
        listening(500, 200) as (hook, got),
        collector() as (port, pushed),
    ):
        environment = KEYS | {"AWS_ENDPOINT_URL": store.address}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        more = (
            f'upload = "s3://{BUCKET}/some"\nwebhook = "{hook}"\notlp = "http://127.0.0.1:{port}"'
        )
        with agent(root, more=more, triggers="") as (running, log):
            within(60, lambda: counts(root))
            running.send_signal(signal.SIGUSR1)
            within(120, lambda: "uploaded: " in log.read_text())
            within(60, lambda: len(got) == 2)
            # The store is away for a while; what the agent makes as it ends is not there before the next one.
            store.kill()
        assert running.returncode == 0, log.read_text()
        assert "not uploaded, tried again" in log.read_text()
        store.start()
        with agent(root, more=more, triggers="") as (running, log):
            within(60, lambda: log.read_text().count("uploaded: ") == 2)
        assert running.returncode == 0, log.read_text()
        to = path_of(f"s3://{BUCKET}/some")
        stored = {str(one.path.relative_to(to)) for one in below(to)}
        kept = {str(one.relative_to(root)) for one in root.glob("date=*/**/*") if one.is_file()}
        assert stored == kept and len([one for one in kept if one.endswith("manifest.json")]) == 3
        (full,) = {Path(*Path(one).parts[:3]) for one in kept if "-trigger-" in one}
        assert open_recording(to / full).manifest.complete
        # The first agent's last push has what became of its trigger.
        triggered = [told(one)["iowhy.triggers"][("by-hand",)] for one in pushed]
        assert 0 in triggered and 1 in triggered
        names = {name for one in pushed for name in told(one)}
        assert {"system.disk.io", "iowhy.latency", "iowhy.sent"} <= names
    assert got[0] == got[1] and got[0]["trigger"] == "by-hand"
    assert set(got[0]) == set(capture.Judged("", "", None).as_json())
