"""What files of a PostgreSQL are, by its catalogue's files as its versions write them."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from iowhy.sources.statements import catalogue

MAPPED = {1259: 1300}
FROZEN, DELETED, FAILED = 0x0B00, 0x0500, 0x0A00


def name(text: str) -> bytes:
    return text.encode().ljust(64, b"\0")


def relation(
    number: int, text: str, file: int, kind: str, toast: int, version: int, space: int = 0
) -> bytes:
    schema = 99 if number < 10_000 else 2200
    counted = 4 if version >= 18 else 3
    head = struct.pack("<I64sI16xII", number, name(text), schema, file, space)
    return head + bytes(4 * counted) + struct.pack("<I", toast) + b"\0\0p" + kind.encode()


def heap(rows: Sequence[tuple[bytes, int]]) -> bytes:
    """A page: rows from its end, what points to them from its begin."""
    items, end, body = b"", 8192, bytearray(8192)
    for row, marks in rows:
        tuple_ = bytes(20) + struct.pack("<HBx", marks, 24) + row
        end -= (len(tuple_) + 7) // 8 * 8
        body[end : end + len(tuple_)] = tuple_
        items += struct.pack("<I", end | 1 << 15 | len(tuple_) << 17)
    body[24 : 24 + len(items)] = items
    struct.pack_into("<HH", body, 12, 24 + len(items), end)
    return bytes(body)


def server(folder: Path, version: int, root: Path = Path("/")) -> Path:
    data, proc = folder / "data", folder / "proc"
    place = data / "base/5"
    place.mkdir(parents=True)
    (proc / "10").mkdir(parents=True)
    (proc / "10/cwd").symlink_to(data)
    (proc / "10/root").symlink_to(root)
    (data / "PG_VERSION").write_text(f"{version}\n")
    pairs = b"".join(struct.pack("<II", *one) for one in MAPPED.items())
    (place / "pg_filenode.map").write_bytes(
        struct.pack("<II", 0x592717, len(MAPPED)) + pairs.ljust(504, b"\0")
    )
    rows = [
        (relation(1259, "pg_class", 0, "r", 0, version), FROZEN),
        (relation(2615, "pg_namespace", 2615, "r", 0, version), FROZEN),
        (relation(2610, "pg_index", 2610, "r", 0, version), FROZEN),
        # Rewritten since: the row before it is there still; then one that a transaction gave up.
        (relation(16384, "before", 16384, "r", 0, version), DELETED),
        (relation(16384, "orders", 16500, "r", 16390, version), FROZEN),
        (relation(16399, "given_up", 16399, "r", 0, version), FAILED),
        (relation(16390, "pg_toast_16384", 16390, "t", 0, version), FROZEN),
        (relation(16395, "orders_pkey", 16395, "i", 0, version), FROZEN),
        (relation(16397, "apart", 16397, "r", 0, version, 24_000), FROZEN),
        (relation(16398, "nowhere", 16398, "r", 0, version, 24_001), FROZEN),
        (relation(16396, "seen", 0, "v", 0, version), FROZEN),
    ]
    (folder / f"space/PG_{version}_2021/5").mkdir(parents=True)
    (data / "pg_tblspc").mkdir()
    (data / "pg_tblspc/24000").symlink_to("/" / (folder / "space").relative_to(root))
    (place / "1300").write_bytes(heap(rows))
    schemas = [(struct.pack("<I64s", 2200, name("public")), FROZEN)]
    (place / "2615").write_bytes(heap([*schemas, (struct.pack("<I64s", 99, name("sys")), FROZEN)]))
    (place / "2610").write_bytes(heap([(struct.pack("<II", 16395, 16384), FROZEN)]))
    return proc


@pytest.mark.parametrize(
    ("version", "changed"), [(12, False), (17, False), (18, False), (18, True)]
)
def test_tables_indexes_and_what_is_kept_apart_are_named(
    tmp_path: Path, version: int, changed: bool
) -> None:
    """Links of tablespaces begin at the server's root, which may be a changed one."""
    root = tmp_path if changed else Path("/")
    found = catalogue.objects(10, 100, server(tmp_path, version, root))
    apart = str(tmp_path / f"space/PG_{version}_2021/5/16397")
    assert [one["object"] for one in found if one["path"] == apart] == ["public.apart"]
    own = [one for one in found if one["path"] != apart]
    names = {Path(one["path"]).relative_to(tmp_path / "data"): one["object"] for one in own}
    assert names == {
        Path("base/5/1300"): "sys.pg_class",
        Path("base/5/2615"): "sys.pg_namespace",
        Path("base/5/2610"): "sys.pg_index",
        Path("base/5/16500"): "public.orders",
        Path("base/5/16390"): "TOAST of orders",
        Path("base/5/16395"): "orders_pkey (index of orders)",
    }


@pytest.mark.parametrize("wrong", ["link", "cut", "noise", "names", "gone"])
def test_what_cannot_be_read_has_no_names(tmp_path: Path, wrong: str) -> None:
    """A folder that whoever runs the server can write into."""
    proc = server(tmp_path, 15)
    file = tmp_path / "data/base/5/1300"
    data = file.read_bytes()
    file.unlink()
    if wrong == "link":
        (tmp_path / "other").write_bytes(data)
        file.symlink_to(tmp_path / "other")
    elif wrong != "gone":
        made = {
            "cut": data[:5000],
            "noise": bytes(range(256)) * 64,
            "names": data.replace(b"orders\0", b"or\x1b[1m\0"),
        }
        file.write_bytes(made[wrong])
    assert catalogue.objects(10, 100, proc) == []


def test_a_tablespace_in_place_costs_the_others_nothing(tmp_path: Path) -> None:
    links = tmp_path / "pg_tblspc"
    (links / "2").mkdir(parents=True)
    (links / "1").symlink_to("/srv/space")
    assert catalogue.tablespaces(tmp_path) == {"1": Path("/srv/space")}
