"""Behind a client a server does the work: which one, and how to record it."""

from pathlib import Path

import pytest

from iowhy.whys.facts import Facts
from iowhy.whys.program import server_behind

from .conftest import Judge, leads
from .made import Story


def test_behind_a_client_its_server_is_recorded(judged: Judge, tmp_path: Path) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("recvfrom", 0.97)
    story.file(201, "/usr/lib/x86_64-linux-gnu/libpq.so.5.15")
    remedy = leads(judged(story), "not-io", 0.9).remedies[0]
    assert "PostgreSQL's server" in remedy and "pgrep -d, -x postgres" in remedy
    with Facts(Story(1.0).made(tmp_path / "x")) as facts:
        assert server_behind(facts) is None


@pytest.mark.parametrize(
    ("path", "servers"),
    [
        (
            "/venv/lib/python3.11/site-packages/psycopg2_binary.libs/libpq-e8a033dd.so.5.16",
            "postgres",
        ),
        ("/app/lib/postgresql-42.7.4.jar", "postgres"),
        ("/usr/lib/x86_64-linux-gnu/libmariadb.so.3", "'mysqld|mariadbd'"),
        ("/app/node_modules/ioredis/built/index.js", "'redis-server|valkey-server'"),
    ],
)
def test_a_client_is_known_by_what_it_asks_with(judged: Judge, path: str, servers: str) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("recvfrom", 0.97).file(201, path)
    remedy = leads(judged(story), "not-io", 0.9).remedies[0]
    assert f'"$(pgrep -d, -x {servers})"' in remedy
