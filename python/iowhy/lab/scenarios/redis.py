"""Redis with its append-only file: durable with each write, or each second."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_SERVED = (
    'redis-server --port 0 --unixsocket "$0" --dir "$1" --save "" --appendonly yes --appendfsync "$2" '
    "--daemonize yes --loglevel warning > /dev/null; "
    'until redis-cli -s "$0" ping > /dev/null 2>&1; do sleep 0.02; done; '
    'redis-benchmark -s "$0" -n "$3" -c 1 -t set -d 100 -q > /dev/null; '
    'redis-cli -s "$0" shutdown nosave'
)


def _sets(stage: Stage, durable: str) -> Plan:
    folder = stage.scratch_filesystem(512).path
    socket, count = str(stage.folder / "redis"), str(stage.choice.count(200))
    return Plan(("sh", "-c", _SERVED, socket, str(folder), durable, count))


SCENARIO = Scenario(
    name="redis-always",
    title="Redis with appendfsync always",
    variants=(
        Variant("always", "each write", lambda s: _sets(s, "always"), ("flush-cost", "sync-storm")),
        Variant(
            "everysec",
            "appendfsync everysec",
            lambda s: _sets(s, "everysec"),
            (*FINE, "sync-storm", "flush-cost", "device-slow"),
        ),
    ),
    devices=("hdd", "flush-slow"),
    remedy=("redis.sync-each-second",),
    tools=("redis-server", "redis-cli", "redis-benchmark"),
)
