"""A recording that another machine sends is its word: nothing is made of it but files of its own."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.sources.ssh import unpack


def archive(*members: tuple[str, bytes | None], **more: object) -> tarfile.TarFile:
    """Files with their content, directories without."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            member.mode, member.size = 0o7777, len(content or b"")
            for key, value in more.items():
                setattr(member, key, value)
            tar.addfile(member, io.BytesIO(content or b""))
    return tarfile.open(fileobj=io.BytesIO(made.getvalue()), mode="r|")


def test_files_and_directories_are_made_and_are_their_owners_alone(tmp_path: Path) -> None:
    out = tmp_path / "r.iowhy"
    unpack(archive(("r.iowhy", None), ("r.iowhy/a", None), ("r.iowhy/a/1.parquet", b"12")), out)
    assert (out / "a/1.parquet").read_bytes() == b"12"
    assert [path.stat().st_mode & 0o7777 for path in (out, out / "a/1.parquet")] == [0o700, 0o600]


@pytest.mark.parametrize(
    "hostile",
    [
        lambda: archive(("other.iowhy", None)),
        lambda: archive(("r.iowhy", None), ("r.iowhy/../away", b"")),
        lambda: archive(("/etc/away", b"")),
        lambda: archive(("r.iowhy", b""), type=tarfile.SYMTYPE, linkname="/etc"),
        lambda: archive(("r.iowhy", b""), type=tarfile.LNKTYPE, linkname="/etc/passwd"),
        lambda: archive(("r.iowhy", b""), type=tarfile.CHRTYPE),
    ],
)
def test_nothing_else_is_made(tmp_path: Path, hostile: Callable[[], tarfile.TarFile]) -> None:
    with pytest.raises(tarfile.TarError):
        unpack(hostile(), tmp_path / "r.iowhy")
    assert not (tmp_path / "away").exists() and not (tmp_path / "r.iowhy").is_symlink()


def test_no_file_is_written_over(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        unpack(
            archive(("r.iowhy", None), ("r.iowhy/a", b"1"), ("r.iowhy/a", b"2")),
            tmp_path / "r.iowhy",
        )
