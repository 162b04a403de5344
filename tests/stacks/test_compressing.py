"""What compresses for most of its time can do so less."""

import pytest

from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.whys.facts import Facts
from iowhy.whys.facts.compressing import compressing, share_of_code
from iowhy.whys.for_users import compress_less
from iowhy.whys.program import programs, remedies
from tests.reports.conftest import Make
from tests.stacks.conftest import MS, frames, sample, spent


def computes(make: Make, library: str, function: str | None, part: float) -> Recording:
    """A thread that spends a part of a second in a function of a library, and the rest in its program."""
    stacks = {1: (function, "save", "main"), 2: ("crunch", "main")}
    rows = frames(stacks)
    rows[0]["module_id"] = 2
    own_ns = round(part * 1000) * MS
    return make(
        {
            "thread_time": [spent(0, 1000 * MS, user=1000 * MS)],
            "modules": [
                {"module_id": 1, "path": "/usr/bin/app", "build_id": "ab" * 20, "kind": "file"},
                {"module_id": 2, "path": f"/usr/lib/x86_64-linux-gnu/{library}", "build_id": "cd" * 20, "kind": "file"},
            ],
            "user_stacks": rows,
            "stack_samples": [
                sample(MS, own_ns, 1, kind="cpu"),
                sample(2 * MS, 1000 * MS - own_ns, 2, kind="cpu"),
            ],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("library", "function", "method"),
    [
        ("liblzma.so.5.4.1", None, "xz"),
        ("libz.so.1.2.13", "deflate", "deflate"),
        ("libdeflate.so.0", "libdeflate_zlib_compress", "deflate"),
        ("libzstd.so.1.5.4", None, "zstd"),
    ],
)
def test_a_library_that_compresses_for_most_of_the_time(
    make: Make, library: str, function: str | None, method: str
) -> None:
    with Facts(computes(make, library, function, 0.8)) as facts:
        ((remedy, saved),) = compress_less(facts).items()
    assert remedy.do.values == {"method": method}
    assert saved.part == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("library", "function", "part"),
    [
        ("libz.so.1.2.13", "deflate", 0.4),  # not most of it
        ("libz.so.1.2.13", "inflate", 0.8),  # it undoes it
        ("libzstd.so.1.5.4", "ZSTD_decompressBlock", 0.8),
        ("libzip.so.5", "zip_close", 0.8),  # another library
        ("libc.so.6", "memcpy", 0.8),
    ],
)
def test_not_what_compresses_little_or_undoes_it(
    make: Make, library: str, function: str, part: float
) -> None:
    with Relations(computes(make, library, function, part)) as relations:
        assert compressing(relations) is None


@pytest.mark.parametrize(
    ("patterns", "part"),
    [
        (["libx264.so*"], 0.8),
        (["encode_*"], 0.8),
        (["app"], 1.0),  # what it calls is in its stacks
        (["libx265.so*"], 0.0),
    ],
)
def test_the_share_of_some_code(make: Make, patterns: list[str], part: float) -> None:
    with Relations(computes(make, "libx264.so.164", "encode_frame", 0.8)) as relations:
        assert share_of_code(relations, patterns) == pytest.approx(part, abs=0.01)


def test_a_setting_that_ends_some_code_saves_all_of_it(make: Make) -> None:
    """The one that makes it quicker is bounded by half, and comes after."""
    recording = computes(make, "libx264.so.164", "encode_frame", 0.8)
    with Facts(recording) as facts:
        (ffmpeg,) = (one for one in programs() if one.id == "ffmpeg")
        found = remedies(facts, [ffmpeg], "cpu-serial", of_syncs=False, of_cpu=True)
    assert [(one.do.id, one.of, round(one.part, 1)) for one in found] == [
        ("ffmpeg.copy", "computing", 0.8),
        ("ffmpeg.faster-preset", "syncs", 1.0),
    ]
