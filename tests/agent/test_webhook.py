"""A verdict gets to its webhook, also at the second try; that it does not is told."""

import pytest

from iowhy.agent import capture
from iowhy.agent.capture import Judged, post
from tests.agent.dripping import HEADERS, dripping
from tests.agent.webhooks import listening

VERDICT = Judged("slow", "fsync p99 > 50 ms: 62 ms of db", None, "it waits", "sync-storm", 0.4)


def test_a_verdict_arrives_once_the_webhook_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "AGAIN_S", (0, 0))
    with listening(503, 200) as (address, got):
        assert post(address, VERDICT) is None
    assert got == [VERDICT.as_json()] * 2
    assert got[0]["cause"] == "sync-storm" and got[0]["why"] == VERDICT.why


def test_one_that_never_does_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "AGAIN_S", (0, 0))
    with listening(500, 500, 404) as (address, got):
        assert "404" in str(post(address, VERDICT))
    assert len(got) == 3
    assert "refused" in str(post(address, VERDICT))


@pytest.mark.timeout(60)  # without a deadline it takes as long as the webhook likes
def test_one_that_drips_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "AGAIN_S", (0,))
    monkeypatch.setattr(capture, "POSTED_WITHIN_S", 0.3)
    with dripping(HEADERS) as address:
        assert post(address, VERDICT)
