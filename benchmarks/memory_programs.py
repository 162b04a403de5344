"""Programs that read the same again, for `benchmarks.memory_sizes`: each makes its files on a filesystem of its own."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from iowhy.lab import shell
from iowhy.lab.stage import Stage

MIB = 1 << 20
_PAGE = 4096
#: PostgreSQL refuses to run as root; this user is on every machine.
_AS = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


class Program(Struct, frozen=True):
    """`make` prepares its files below a folder and gives its command; `mapped`: it reads by mapping, which calls do not show."""

    name: str
    make: Callable[[Stage, Path], Sequence[str]]
    mapped: bool = False


def _sh(script: str, *words: object) -> tuple[str, ...]:
    return ("sh", "-c", script, *map(str, words))


def _bytes(path: Path, mebibytes: float, seed: int = 1) -> Path:
    """A file that does not compress."""
    choice = random.Random(seed)
    with path.open("wb") as file:
        for _ in range(int(mebibytes * 4)):
            file.write(choice.randbytes(MIB // 4))
    return path


def _skewed(count: int, among: int, skew: float, seed: int = 5) -> list[int]:
    """Numbers of a power law, scattered."""
    choice = random.Random(seed)
    places = list(range(1, among + 1))
    choice.shuffle(places)
    return [places[min(among - 1, int(among * choice.random() ** skew))] for _ in range(count)]


def _sqlite(_: Stage, folder: Path) -> Sequence[str]:
    """Look-ups by an index, most of few keys."""
    base, asked = folder / "shop.db", folder / "asked.sql"
    made = (
        "PRAGMA journal_mode=OFF; CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, text BLOB);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
        "INSERT INTO item SELECT i, hex(i * 7919 % 60001), randomblob(900) FROM n;"
        "CREATE INDEX by_name ON item(name);"
    )
    shell.run(["sqlite3", str(base), made])
    lines = [
        f"SELECT length(text) FROM item WHERE name = hex({one} * 7919 % 60001);\n"
        for one in _skewed(25_000, 60_000, 3)
    ]
    asked.write_text("".join(lines))
    return _sh('exec sqlite3 "$0" < "$1" > /dev/null', base, asked)


_SERVED = (
    '"$0" -D "$2" -w -t 60 -s -l "$2/log" -o "-k $2" start && '
    '"$1" -h "$2" -n -c 2 -t 8000 -f "$3" postgres; "$0" -D "$2" -s -m immediate stop'
)


def _postgres(stage: Stage, folder: Path) -> Sequence[str]:
    """pgbench's table by a power law, with shared_buffers of 8 MiB."""
    stage.folder.chmod(0o711)
    folder.chmod(0o777)
    cluster = folder / "cluster"
    pg_ctl, pgbench = shell.found("pg_ctl") or "pg_ctl", shell.found("pgbench") or "pgbench"
    initdb = shell.found("initdb") or "initdb"
    shell.run((*_AS, initdb, "-D", str(cluster), "-N", "-A", "trust", "--no-locale"))
    with (cluster / "postgresql.conf").open("a") as file:
        file.write(
            "listen_addresses = ''\nshared_buffers = 8MB\nautovacuum = off\nfsync = off\n"
            "max_parallel_workers_per_gather = 0\n"
        )
    script = folder / "one.sql"
    script.write_text(
        "\\set n random_zipfian(1, 500000, 1.02)\n"
        "SELECT abalance FROM pgbench_accounts WHERE aid = (:n::bigint * 7919) % 500000 + 1;\n"
    )
    script.chmod(0o644)
    start = f'-D {cluster} -w -t 60 -s -l {cluster}/log -o "-k {cluster}"'
    made = (
        f"{pg_ctl} {start} start && {pgbench} -h {cluster} -q -i -s 5 postgres && "
        f"{pg_ctl} -D {cluster} -s stop"
    )
    shell.run((*_AS, "sh", "-c", made))
    return (*_AS, "sh", "-c", _SERVED, pg_ctl, pgbench, str(cluster), str(script))


_BOOTSTRAP = (
    'exec "$0" --no-defaults --bootstrap --user=root --datadir="$1" --skip-log-bin --innodb-buffer-pool-size=8M '
    '--innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=2 --innodb-flush-method=fsync < "$2" > /dev/null'
)


def _mariadb(_: Stage, folder: Path) -> Sequence[str]:
    """Look-ups by the primary key, with a buffer pool of 8 MiB."""
    data, made, asked = folder / "data", folder / "made.sql", folder / "asked.sql"
    data.mkdir()
    made.write_text(
        "CREATE DATABASE shop;\n"
        "CREATE TABLE shop.item(id INT PRIMARY KEY, name TEXT) ENGINE=InnoDB;\n"
        "INSERT INTO shop.item SELECT a.seq, repeat(md5(a.seq), 40) FROM "
        "(WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 250) "
        "SELECT x.seq * 250 + y.seq AS seq FROM n x JOIN n y) AS a;\n"
    )
    asked.write_text(
        "SET max_recursive_iterations = 1000000;\n"
        + "".join(
            f"SELECT length(name) FROM shop.item WHERE id = {250 + one};\n"
            for one in _skewed(20_000, 62_500, 2)
        )
    )
    server = shell.found("mariadbd") or "mariadbd"
    subprocess.run(_sh(_BOOTSTRAP, server, data, made), check=True, capture_output=True)
    return _sh(_BOOTSTRAP, server, data, asked)


def _tree(folder: Path) -> Path:
    """Many small files."""
    tree = folder / "tree"
    for name in ("/usr/include", "/usr/lib/python3.11"):
        if Path(name).is_dir():
            shutil.copytree(name, tree / Path(name).name, symlinks=True)
    return tree


def _git(_: Stage, folder: Path) -> Sequence[str]:
    """Three searches of a working tree, each through all its files."""
    tree = _tree(folder)
    git = [
        "git",
        "-C",
        str(tree),
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
    ]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "all"]):
        shell.run([*git, *words])
    script = 'for word in nowhere_a nowhere_b nowhere_c; do git -C "$0" grep -q "$word"; done; true'
    return _sh(script, tree)


def _grep(_: Stage, folder: Path) -> Sequence[str]:
    """Two searches of all, two of a part."""
    logs = folder / "logs"
    for number in range(24):
        (logs / f"day{number % 4}").mkdir(parents=True, exist_ok=True)
        _bytes(logs / f"day{number % 4}" / f"{number}.log", 3, number)
    script = 'for part in . day0 day0 . day1 day0; do grep -r -c nowhere "$0/$part"; done > /dev/null; true'
    return _sh(script, logs)


def _rsync(_: Stage, folder: Path) -> Sequence[str]:
    """Two comparisons by checksum."""
    (folder / "from").mkdir()
    for number in range(30):
        _bytes(folder / "from" / f"{number}", 2, number)
    shutil.copytree(folder / "from", folder / "to")
    script = 'for again in 1 2 3; do rsync -rc "$0/from/" "$0/to/"; done'
    return _sh(script, folder)


def _sums(_: Stage, folder: Path) -> Sequence[str]:
    """Checksums of files, some of them often."""
    for name, size in (("a", 12), ("b", 32), ("c", 64)):
        _bytes(folder / name, size, size)
    return _sh('cd "$0" && exec sha256sum a b a a b c a b a c > /dev/null', folder)


_ZIPF = """
import os, random, sys
choice, handle = random.Random(3), os.open(sys.argv[1], os.O_RDONLY)
pages = os.fstat(handle).st_size // 4096
places = list(range(pages))
choice.shuffle(places)
for _ in range(70000):
    os.pread(handle, 4096, places[int(pages * choice.random() ** 2.5)] * 4096)
"""


def _python(_: Stage, folder: Path) -> Sequence[str]:
    """Reads of single pages by a power law."""
    return (sys.executable, "-c", _ZIPF, str(_bytes(folder / "data", 64)))


def _fio(kind: str) -> Callable[[Stage, Path], Sequence[str]]:
    def make(_: Stage, folder: Path) -> Sequence[str]:
        path = _bytes(folder / "data", 64)
        return (
            "fio", "--name=a", f"--filename={path}", "--rw=randread", "--bs=8k", "--size=64m",
            "--io_size=240m", f"--random_distribution={kind}", "--norandommap", "--randseed=7", "--fadvise_hint=0",
            "--output=/dev/null", "--ioengine=psync", "--invalidate=0",
        )  # fmt: skip

    return make


_ASKED = """
import sys, duckdb
base = duckdb.connect(sys.argv[1], read_only=True, config={'memory_limit': '32MB', 'threads': 2})
for column in ('a', 'b', 'a', 'c', 'a', 'd', 'b', 'a'):
    base.execute(f'SELECT sum({column}) FROM made').fetchall()
"""
_MADE = """
import sys, duckdb
base = duckdb.connect(sys.argv[1])
base.execute("CREATE TABLE made AS SELECT hash(i) a, hash(i + 1) b, hash(i * 3) c, hash(i * 5) d FROM range(3000000) t(i)")
"""


def _duckdb(_: Stage, folder: Path) -> Sequence[str]:
    """Sums of columns, some of them often."""
    base = folder / "made.duckdb"
    shell.run([sys.executable, "-c", _MADE, str(base)])
    return (sys.executable, "-c", _ASKED, str(base))


def _sort(_: Stage, folder: Path) -> Sequence[str]:
    """Runs are written, then read and merged."""
    choice, path = random.Random(1), folder / "lines"
    with path.open("w") as file:
        file.writelines(f"{choice.getrandbits(400):0100x}\n" for _ in range(800_000))
    return _sh('LC_ALL=C exec sort -S 8M -T "$0" --parallel=1 "$0/lines" > /dev/null', folder)


_MAPPED = """
import mmap, os, random, sys
choice, handle = random.Random(3), os.open(sys.argv[1], os.O_RDONLY)
mapped = mmap.mmap(handle, 0, prot=mmap.PROT_READ)
pages = len(mapped) // 4096
for _ in range(50000):
    mapped[int(pages * choice.random() ** 2.5) * 4096]
"""


def _map(_: Stage, folder: Path) -> Sequence[str]:
    """Single pages of a mapped file by a power law."""
    return (sys.executable, "-c", _MAPPED, str(_bytes(folder / "data", 64)))


def _rocksdb(_: Stage, folder: Path) -> Sequence[str]:
    """db_bench, random reads of a part of the keys, with a block cache of 4 MiB."""
    common = ["db_bench", f"--db={folder}/db", "--num=500000", "--value_size=120", "--compression_type=none",
              "--cache_size=4194304", "--seed=5"]  # fmt: skip
    shell.run([*common, "--benchmarks=fillseq,compact", "--disable_wal=1"])
    return (
        *common,
        "--use_existing_db=1",
        "--benchmarks=readrandom",
        "--reads=30000",
        "--read_random_exp_range=12",
    )


PROGRAMS = (
    Program("sqlite", _sqlite),
    Program("postgres", _postgres),
    Program("mariadb", _mariadb),
    Program("rocksdb", _rocksdb),
    Program("git-grep", _git),
    Program("grep-r", _grep),
    Program("rsync-c", _rsync),
    Program("sha256sum", _sums),
    Program("python-skewed", _python),
    Program("fio-zipf", _fio("zipf:0.8")),
    Program("fio-random", _fio("random")),
    Program("duckdb", _duckdb),
    Program("sort", _sort),
    Program("mapped", _map, mapped=True),
)
