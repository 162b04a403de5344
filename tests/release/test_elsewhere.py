"""What a release brings to other machines: archives that need nothing of theirs, repositories, signatures, where it comes from."""

import hashlib
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

DIST = Path(os.environ.get("DIST", "dist"))
#: Of an archive or package that brings all that iowhy needs.
MOST_BYTES = 90_000_000
ARCHIVES = sorted(DIST.glob("iowhy-[0-9]*-linux-*.tar.*"))

pytestmark = pytest.mark.skipif(not ARCHIVES, reason="make release has not run")


#: They are made when the checksums are there.
SIGNING = {"SHA256SUMS", "SHA256SUMS.sig", "allowed_signers"}


def digests() -> dict[str, str]:
    """Of all files that the checksums are to be of."""
    files = {str(path.relative_to(DIST)): path for path in DIST.rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
        if name not in SIGNING
    }


def test_checksums_are_of_all_files_and_signed() -> None:
    lines = [line.split() for line in (DIST / "SHA256SUMS").read_text().splitlines()]
    assert {name: said for said, name in lines} == digests()
    verify = ["ssh-keygen", "-Y", "verify", "-f", DIST / "allowed_signers", "-I", "iowhy"]
    verify += ["-n", "iowhy", "-s", DIST / "SHA256SUMS.sig"]
    signed = (DIST / "SHA256SUMS").read_bytes()
    assert subprocess.run(verify, input=signed, capture_output=True, check=False).returncode == 0
    assert subprocess.run(verify, input=signed + b" ", capture_output=True, check=False).returncode


def test_the_provenance_is_of_all_files_and_names_the_commit() -> None:
    (path,) = DIST.glob("*.intoto.json")
    statement = json.loads(path.read_text())
    said = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    made_before = {name: of for name, of in digests().items() if not name.endswith(".intoto.json")}
    assert said == made_before
    sources = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    git = ["git", "rev-parse", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    assert sources[0]["digest"]["gitCommit"] == head
    assert {one["uri"].split("@")[0] for one in sources} >= {"file:Cargo.lock", "pkg:deb/debian/libc6", "pkg:pypi/duckdb"}  # fmt: skip


def test_what_brings_all_is_small_enough_to_fetch() -> None:
    found = [one for one in DIST.rglob("iowhy[-_][0-9]*") if one.suffix in (".gz", ".xz", ".deb", ".rpm")]  # fmt: skip
    assert len(found) == 3 * len(ARCHIVES)
    assert {one.name: one.stat().st_size for one in found if one.stat().st_size > MOST_BYTES} == {}  # fmt: skip


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda one: one.name)
def test_an_archive_needs_no_library_of_the_machine(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="tar")
    files = [one for one in tmp_path.rglob("*") if one.is_file() and not one.is_symlink()]
    binaries = [one for one in files if one.open("rb").read(4) == b"\x7fELF"]
    needed = subprocess.run(
        ["readelf", "--dynamic", "--wide", *binaries], capture_output=True, text=True, check=False
    ).stdout
    asked = set(re.findall(r"\(NEEDED\) +Shared library: \[(.*)\]", needed))
    there = {one.name for one in files}
    loader = {one for one in asked if one.startswith("ld-linux-")}  # it runs, by another name
    assert len(binaries) > 60 and asked - there - loader == set()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda one: one.name)
def test_compiled_modules_are_used_whatever_the_times_of_files(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        heads = [opened.extractfile(one).read(8) for one in opened if one.name.endswith(".pyc")]  # type: ignore[union-attr]
    # PEP 552: 1 is a hash that is not looked at, 0 a time stamp.
    assert len(heads) > 1000
    assert {int.from_bytes(one[4:], "little") for one in heads} == {1}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_an_archive_works_where_there_is_nothing_but_a_shell() -> None:
    done = subprocess.run(
        ["tools/distributions", "bare"],
        capture_output=True, text=True, check=True, env={**os.environ, "DIST": str(DIST.absolute())},
    )  # fmt: skip
    assert "| bare |  | yes | yes | yes | yes |" in done.stdout, done.stdout + done.stderr


def test_apt_takes_the_repository(tmp_path: Path) -> None:
    for name in ("lists/partial", "cache/archives/partial", "state"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "status").touch()
    where = DIST.absolute()
    (tmp_path / "sources").write_text(f"deb [signed-by={where}/iowhy.asc] file://{where}/apt ./\n")
    apt = ["apt-get", "-qq", "-oAPT::Sandbox::User=root", f"-oDir::State={tmp_path}/state"]
    apt += [f"-oDir::State::lists={tmp_path}/lists", f"-oDir::Cache={tmp_path}/cache"]
    apt += [f"-oDir::State::status={tmp_path}/status", f"-oDir::Etc::sourcelist={tmp_path}/sources"]
    apt += ["-oDir::Etc::sourceparts=/dev/null"]
    subprocess.run([*apt, "update"], check=True)
    shown = subprocess.run([*apt, "--simulate", "install", "iowhy", "iowhy-record"], capture_output=True, text=True, check=True)  # fmt: skip
    assert sorted(re.findall(r"^Inst (\S+)", shown.stdout, re.M)) == ["iowhy", "iowhy-record"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_dnf_installs_from_the_repository(tmp_path: Path) -> None:
    where = DIST.absolute()
    options = ["--repofrompath", f"iowhy,file://{where}/rpm", "--repo", "iowhy", "--setopt=iowhy.repo_gpgcheck=1"]  # fmt: skip
    options += [f"--setopt=iowhy.gpgkey=file://{where}/iowhy.asc", "--setopt=iowhy.gpgcheck=0"]
    options += [f"--installroot={tmp_path}/root", f"--setopt=cachedir={tmp_path}/cache", "--releasever=1"]  # fmt: skip
    done = subprocess.run(["dnf", "--quiet", "--assumeyes", *options, "install", "iowhy"], capture_output=True, text=True, check=False)  # fmt: skip
    for keys in tmp_path.glob("cache/*/pubring"):  # dnf leaves an agent of these running
        subprocess.run(["gpgconf", "--homedir", keys, "--kill", "all"], check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "root/usr/lib/iowhy/bin/iowhy-record").exists()
    assert (tmp_path / "root/usr/bin/iowhy").is_symlink()
