"""What filesystems and the layers below them compute: compression, encryption, checksums, parity; in threads of the command, or in the kernel's own for it."""

import re

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys.facts import filesystems

#: What the functions of Linux are called that do it, by what it is; those of swap and sockets do it for somebody else.
FUNCTIONS = {
    "decompressing": (
        r"squashfs_decompress|squashfs_\w*uncompress|z_erofs_(lz4_|lzma_|deflate_|zstd_)?decompress\w*|z_erofs_(decompress|run)queue"
        r"|btrfs_decompress\w*|end_bbio_compressed_read|f2fs_(do_)?decompress\w*|ntfs_read_compr\w*|attr_(is_)?frame_\w+"
        r"|decompress_(lznt|lzx|xpress)|(ubifs|jffs2)_decompress|cramfs_uncompress\w*|bch2_bio_uncompress\w*"
    ),
    "compressing": (
        r"btrfs_compress\w*|compress_file_range|(zstd|zlib|lzo)_compress_(folios|pages)|f2fs_(write_)?compress\w*"
        r"|(ubifs|jffs2)_compress|compress_lznt|ntfs_compress\w*|bch2_bio_compress\w*"
    ),
    "encrypting": (
        r"crypt_convert\w*|kcryptd_crypt\w*|fscrypt_(en|de)crypt\w*|fscrypt_crypt\w*|ecryptfs_(en|de)crypt\w*|bch2_encrypt\w*"
    ),
    "checking checksums": (
        r"btrfs_csum_\w+|btrfs_check_\w*csum\w*|btrfs_data_csum_ok|verity_(verify_io|hash\w*|hash_for_block)|fsverity_\w+"
        r"|integrity_(sector_checksum|metadata)|bch2_checksum\w*"
    ),
    "computing parity": r"raid6_\w+|xor_blocks|async_(xor|gen_syndrome)\w*|ops_run_\w+|raid56_\w+",
}
_NOT_FILES = r"zram_\w+|zswap_\w+|swap_(write|read)\w*|tls_\w+|alg_\w+|try_to_free_pages|shrink_\w+"

_SAMPLES = """
WITH stacks_on_cpu AS (
  SELECT stack_id, sum(weight_ns) AS weight_ns FROM stack_samples
  -- Outside calls, and without frames of the kernel, it is the program that runs.
  WHERE kind = 'cpu' AND (stack_id IS NOT NULL OR syscall IS NOT NULL) GROUP BY stack_id
), named AS (
  SELECT s.weight_ns, ' ' || array_to_string(k.frames, ' ') || ' ' AS frames
  FROM stacks_on_cpu AS s LEFT JOIN stacks AS k ON k.stack_id = s.stack_id
)
SELECT {kind} AS kind, sum(weight_ns)::DOUBLE / sum(sum(weight_ns)) OVER () AS share FROM named GROUP BY 1
"""


def of_threads(relations: Relations) -> dict[str, float]:
    """Of the command's CPU time in the kernel, the shares that these functions have, as the stacks sampled there show."""
    if not relations.has("stack_samples") or not relations.has("stacks"):
        return {}
    found = relations.rows(_SAMPLES.format(kind=_kind_sql()))
    return {kind: share for kind, share in found if kind is not None}


def _kind_sql() -> str:
    def has(names: str) -> str:
        pattern = rf"\b({names})\b"
        return f"regexp_matches(frames, {text_literal(pattern)})"

    kinds = " ".join(
        f"WHEN {has(names)} THEN {text_literal(one)}" for one, names in FUNCTIONS.items()
    )
    return f"CASE WHEN {has(_NOT_FILES)} THEN NULL {kinds} END"


#: What programs spend in the kernel, of what they compute themselves: compilers a tenth, those that start others a half.
IN_KERNEL = 0.25


def cores_of_workers(
    relations: Relations, cpus: int | None, system: float | None, user: float | None
) -> float | None:
    """How many CPUs the kernel's own threads use, about: what the machine computes in the kernel (a share of its CPUs) without
    the command's part, and without what other programs spend there (`IN_KERNEL`). None if that is not known."""
    elapsed_ns = relations.facts.elapsed_ns
    if cpus is None or system is None or user is None or not elapsed_ns:
        return None
    if not relations.has("thread_time"):
        return None
    return relations.value(
        float,
        f"""SELECT greatest(0, greatest(0, {system * cpus} - sum(cpu_kernel_ns) / {elapsed_ns})
          - {IN_KERNEL} * greatest(0, {user * cpus} - coalesce(sum(cpu_user_ns), 0) / {elapsed_ns}))
        FROM thread_totals HAVING sum(cpu_kernel_ns) IS NOT NULL""",
    )


class Layer(Struct, frozen=True):
    """What computes: a filesystem, or a device below it; `how`: its algorithm or level, if known; `forced`: also of what does not get smaller."""

    kind: str
    name: str
    does: str
    how: str | None = None
    forced: bool = False


_COMPRESS = re.compile(r"(?:^|,)compress(-force)?=([a-z]+(?::-?\d+)?)")


def layer(
    relations: Relations,
    found: filesystems.Filesystems,
    device: int | None,
    *,
    reads: bool,
    in_calls: bool = False,
) -> Layer | None:
    """What computes on the way of what is waited for, or of what it does in calls: of reads, or of writes; None where nothing is known to."""
    dev = (filesystems.called_most if in_calls else filesystems.waited_for_most)(relations)
    most = filesystems.of(found, dev)
    if most is not None and most.kind in ("squashfs", "erofs", "cramfs"):
        return Layer(most.kind, most.mount, "decompressing")
    if most is not None and most.kind == "btrfs":
        asked = _COMPRESS.search(most.options)
        how = None if asked is None or asked[2] in ("no", "none") else asked[2]
        if how is not None or (reads and _encoded(relations, most.dev)):
            does = "decompressing" if reads else "compressing"
            forced = asked is not None and asked[1] is not None
            return Layer("btrfs", most.mount, does, how, forced)
    return _device(relations, device)


def _encoded(relations: Relations, dev: int) -> bool:
    """Whether half of the bytes of the command's files there are compressed."""
    if not relations.has("extents"):
        return False
    share = relations.value(
        float,
        f"""SELECT sum(bytes) FILTER (list_contains(flags, 'encoded')) / sum(bytes)::DOUBLE AS share
        FROM extents WHERE dev = {dev} AND phase = 'after'""",
    )
    return (share or 0.0) >= 0.5


class _Device(Struct, frozen=True):
    name: str
    mapper_name: str | None
    mapper_kind: str | None
    raid_level: str | None


def _device(relations: Relations, device: int | None) -> Layer | None:
    """The device, or one below it, that encrypts or keeps parity."""
    if device is None or not relations.has("devices"):
        return None
    below = (
        "UNION SELECT l.below_dev FROM device_layers AS l JOIN under AS u ON u.dev = l.dev"
        if relations.has("device_layers")
        else ""
    )
    rows = relations.read(
        _Device,
        f"""WITH RECURSIVE under (dev) AS (SELECT {device}::BIGINT {below})
        SELECT d.name, d.mapper_name, d.mapper_kind, d.raid_level FROM devices AS d JOIN under AS u ON u.dev = d.dev
        WHERE d.mapper_kind = 'CRYPT' OR d.raid_level IN ('raid4', 'raid5', 'raid6') ORDER BY d.dev""",
    )
    for one in rows:
        if one.mapper_kind == "CRYPT":
            return Layer("dm-crypt", one.mapper_name or one.name, "encrypting")
        return Layer("md", one.name, "computing parity", one.raid_level)
    return None
