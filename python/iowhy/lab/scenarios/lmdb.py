"""LMDB: a database that nobody has read yet is dumped."""

import random
import subprocess

from iowhy.errors import Problem
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_MAP_BYTES = 1 << 30


def _dump(stage: Stage, *, cold: bool) -> Plan:
    path = stage.scratch_filesystem(1024).path / "db"
    keys = list(range(stage.choice.count(50_000)))
    random.Random(stage.choice.seed).shuffle(keys)
    lines = "".join(f" key{key:08}\n {'x' * 900}\n" for key in keys)
    head = f"VERSION=3\nformat=print\ntype=btree\nmapsize={_MAP_BYTES}\nHEADER=END\n"
    done = subprocess.run(
        ("mdb_load", "-n", "-f", "/dev/stdin", str(path)),
        input=head + lines + "DATA=END\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Problem("mdb-load", stderr=done.stderr.strip()[-200:])
    return Plan(("sh", "-c", 'exec mdb_dump -n "$0" > /dev/null', str(path)), cold=cold)


SCENARIO = Scenario(
    name="lmdb-dump",
    title="mdb_dump of a cold database",
    variants=(
        Variant(
            "cold",
            "nothing cached",
            lambda s: _dump(s, cold=True),
            ("cache-cold", "random-access", "device-saturated"),
        ),
        Variant("warm", "all cached", lambda s: _dump(s, cold=False), FINE),
    ),
    devices=("hdd",),
    remedy=(
        "shared.warm-cache",
        "shared.warm-cache-any",
    ),
    filesystems=("ext4", "xfs"),
    tools=("mdb_load", "mdb_dump"),
)
