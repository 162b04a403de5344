"""Files that lie beside modules are found on disk and in an archive."""

import sys
import zipfile
from pathlib import Path

import pytest

from iowhy.package_files import files_by_name, modules_of


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
def test_files_are_found_by_name(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"with_files_{packed}".lower()
    texts = {
        "__init__.py": "",
        "one.py": "N = 1",
        "another.py": "N = 2",
        "b.sql": "2",
        "a.sql": "1",
        "a.toml": "3",
        "below/c.sql": "4",
    }
    place = tmp_path / ("packed.zip" if packed else "folder")
    if packed:
        with zipfile.ZipFile(place, "w") as archive:
            for file, text in texts.items():
                archive.writestr(f"{name}/{file}", text)
    else:
        for file, text in texts.items():
            (place / name / file).parent.mkdir(parents=True, exist_ok=True)
            (place / name / file).write_text(text)
    monkeypatch.syspath_prepend(str(place))
    found = files_by_name(name, ".sql")
    assert [(one, file.read_text("utf-8")) for one, file in found.items()] == [
        ("a", "1"),
        ("b", "2"),
    ]
    assert list(files_by_name(name, ".sql", "below")) == ["c"]
    assert [module.N for module in modules_of(name)] == [2, 1]
    for module in (name, f"{name}.one", f"{name}.another"):
        del sys.modules[module]
