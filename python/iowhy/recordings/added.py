"""Adds tables to a recording that has ended: what other sources than the recorder saw at the same time."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from iowhy.errors import Problem
from iowhy.recordings.manifest import MANIFEST, MANIFEST_MAX_BYTES
from iowhy.recordings.plain_file import read_plain
from iowhy.recordings.rewrite import made_private
from iowhy.recordings.writer import in_schema, write_rows
from iowhy.users import inside_as_owner
from iowhy.written_files import PRIVATE_DIRECTORY, write_whole


def add(
    recording: Path,
    rows: Mapping[str, Sequence[Mapping[str, object]]],
    lost: Mapping[str, int],
    notes: Sequence[str],
) -> None:
    """Writes rows of tables, after those that the recording has, for its owner, and says so in its manifest. Raises Problem."""
    try:
        with tempfile.TemporaryDirectory(prefix="iowhy-rows-") as own:
            files: dict[str, tuple[Path, int]] = {}
            for name, given in rows.items():
                made = in_schema(name, given)
                if made is not None:
                    files[name] = Path(own, f"{name}.parquet"), len(made)
                    write_rows(made, files[name][0])
            opened = {name: file.open("rb") for name, (file, _) in files.items()}
            with inside_as_owner(recording) as inside:
                for name, source in opened.items():
                    (inside / name).mkdir(PRIVATE_DIRECTORY, exist_ok=True)
                    with (
                        source,
                        made_private(
                            inside / name / f"{_number(inside / name):06}.parquet"
                        ) as target,
                    ):
                        shutil.copyfileobj(source, target)
                counted = {name: count for name, (_, count) in files.items()}
                _say(inside / MANIFEST, counted, lost, notes)
    except OSError as error:
        raise Problem("cannot-be-written", path=recording, error=error.strerror or error) from None


def _number(folder: Path) -> int:
    """Of the next file of a table."""
    return 1 + max((int(one.stem) for one in folder.glob("[0-9]*.parquet")), default=0)


def _say(
    manifest: Path, counted: Mapping[str, int], lost: Mapping[str, int], notes: Sequence[str]
) -> None:
    loaded = json.loads(read_plain(manifest, MANIFEST_MAX_BYTES))
    tables = loaded.setdefault("tables", {})
    for name in {*counted, *(name for name, number in lost.items() if number)}:
        before = tables.get(name, {})
        new = {"kept": counted.get(name, 0), "lost": lost.get(name, 0)}
        tables[name] = {what: number + before.get(what, 0) for what, number in new.items()}
    loaded["notes"] = [*loaded.get("notes", ()), *notes]
    text = json.dumps(loaded, indent=1, ensure_ascii=False) + "\n"
    write_whole(manifest, text.encode(), manifest.stat().st_mode & 0o777)
