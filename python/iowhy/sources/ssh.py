"""Record on another machine: the recorder of this one goes there over ssh, and its recording comes back.

Nothing has to be installed there, as a released recorder is one static file. What is copied is in a directory of the user's own,
which is removed when the recording has arrived.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.messages import printable, say
from iowhy.recordings.query_limits import private_folder
from iowhy.sources import ending, lifeline
from iowhy.sources.request import Request

#: The words that start ssh, where options of it are needed that ~/.ssh/config does not have.
SSH = "IOWHY_SSH"

#: e_machine of ELF and what uname(2) says of the same processor.
_MACHINES = {62: "x86_64", 183: "aarch64"}

#: Prints the directory that it made, and recordings of before that nobody has fetched: one that is still made is written
#: once a minute at least.
_PUT = """umask 077
all=${TMPDIR:-/var/tmp}
d=$(mktemp -d "$all/iowhy.XXXXXX") || exit 1
if cat > "$d/iowhy-record" && mkfifo "$d/held" && chmod 700 "$d/iowhy-record" && "$d/iowhy-record" --version >&2
then
  printf '%s\\n' "$d"
  find "$all"/iowhy.??????/*/manifest.json -user "$(id -u)" -mmin +2 2> /dev/null || true
else rm -rf "$d"; exit 1
fi"""

#: Waits until a recording is whole, so many seconds; one that is not there is none to wait for.
_WHOLE = """while [ -e "$1/manifest.json" ] && ! grep -q '"complete": true' "$1/manifest.json"; do
[ "$2" -gt "${waited:-0}" ] || exit 1
waited=$((${waited:-0} + 1)); sleep 1
done"""

#: A recorder that nobody holds has closed its recording.
_CLOSED_S = 20

#: Holds the recorder there as long as this connection, and what it reads here, are there: it has opened the pipe when it says so.
_HOLD = """exec 3<> "$1/held" && echo held && exec cat >&3"""

#: The status of _GET where there is no recording.
_NONE = 3

_GET = f'cd "$1" || exit 1; [ -e "$2" ] || exit {_NONE}; exec tar -cf - "$2"'

#: What the recorder says of the machine, and files of it, each behind its name between zeros.
_PROBE = r"""cd "$1" && shift && {
./iowhy-record probe
printf '\0user\0'; id -u
for file do
  [ -e "$file" ] || continue
  printf '\0%s\0' "$file"
  case $file in /sys/kernel/btf/*) ;; *) head -c 65536 "$file" 2> /dev/null ;; esac
done
} > answer && chmod 644 answer"""

#: What is copied at once.
_CHUNK_BYTES = 1 << 20


class Host(Struct, frozen=True):
    """A machine as ssh knows it. `sudo`: what is recorded there is recorded as root."""

    name: str
    sudo: bool = False

    def record(
        self,
        recorder: Path,
        request: Request,
        out: Path,
    ) -> int:
        """Runs the recorder there; the recording is then `out`. Returns what it returned.

        Where the request outlives us, it goes on when the connection is lost, too.
        Standard input, output and error are those of this process. Raises Problem where the machine cannot be
        reached or the recorder does not run on it.
        """
        with self._connection() as ssh:
            self._check_machine(ssh, recorder)
            place, forgotten = self._put(ssh, recorder)
            for one in forgotten:
                say(f"{self.name} has a recording that was never fetched: {one}")
            there = f"{place}/{out.name}"
            command = [f"{place}/iowhy-record", *request.words(there)]
            variables = request.environment
            if not request.outlives_us:
                variables[lifeline.VARIABLE] = f"{place}/held"
            command = ["env", *map("=".join, variables.items()), *command]
            if self.sudo:
                command.insert(0, "sudo")
            with nullcontext() if request.outlives_us else self._held(ssh, place):
                status = self._run(ssh, command)
            # Also of a command: then its recording is whole.
            if status == 255 and not self._is_whole(
                ssh, there, 0 if request.outlives_us else _CLOSED_S
            ):
                raise Problem("connection-ended-before-recording", name=self.name, there=there)
            arrived = self._get(ssh, place, out)
            self._remove(ssh, place)
        if not arrived:
            raise SystemExit(status or 1)  # the recorder has said there what was wrong
        say(f"recorded on {self.name}")
        return status

    def probe(self, recorder: Path, files: Sequence[str]) -> dict[str, str]:
        """What `iowhy-record probe` prints there ("probe"), the user's number ("user"), the processor ("machine"), and
        the beginning of each of the files that are there, empty of type information. Nothing stays there. Raises
        Problem as `record` does.
        """
        with self._connection() as ssh:
            self._check_machine(ssh, recorder)
            place, _ = self._put(ssh, recorder)
            rise = ["sudo"] if self.sudo else []
            try:
                status = self._run(ssh, [*rise, "sh", "-c", _PROBE, "sh", place, *files])
                answer = self._asked(ssh, f"cat {shlex.quote(place)}/answer").stdout
            finally:
                self._remove(ssh, place)
        first, *more = answer.decode(errors="replace").split("\0")
        found = {"probe": first, "machine": _machine_of(recorder)}
        found |= dict(zip(more[::2], more[1::2], strict=False))
        if "user" not in found:
            raise Problem("host-silent", name=self.name, status=status)
        return found

    @contextmanager
    def _connection(self) -> Iterator[list[str]]:
        """ssh's words; all calls share one connection, so that a password is asked for once."""
        command = shlex.split(os.environ.get(SSH, "ssh"))
        if not command or shutil.which(command[0]) is None:
            raise Problem("ssh-missing", name=self.name, command=" ".join(command) or SSH)
        folder = private_folder()  # which the next iowhy takes away where this one is killed
        if folder is None:
            raise Problem("no-place-for-a-socket", name=self.name)
        # A name that is short: the path of a socket may have 107 bytes (unix(7)), of which ssh takes 17.
        path = folder / os.urandom(2).hex()
        shared = ["-oControlMaster=auto", f"-oControlPath={path}", "-oControlPersist=60"]
        try:
            yield [*command, *shared]
        finally:
            subprocess.run(
                [*command, *shared, "-O", "exit", "--", self.name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )

    def _check_machine(self, ssh: Sequence[str], recorder: Path) -> None:
        done = self._asked(ssh, "uname -sm")
        if done.returncode != 0:
            raise Problem(
                "host-unreachable",
                name=self.name,
                stderr=_last(done.stderr) or "ssh cannot reach it",
            )
        system, _, machine = done.stdout.decode(errors="replace").strip().partition(" ")
        own = _machine_of(recorder)
        if system != "Linux":
            raise Problem("host-not-linux", name=self.name, system=system)
        if machine != own:
            raise Problem("recorder-for-another-machine", name=self.name, machine=machine, own=own)

    def _put(self, ssh: Sequence[str], recorder: Path) -> tuple[str, list[str]]:
        """Where it is, and which recordings an iowhy that was killed has left there."""
        with recorder.open("rb") as file:
            done = self._asked(ssh, _PUT, stdin=file)
        place, *left = done.stdout.decode(errors="replace").splitlines() or [""]
        if done.returncode != 0 or not place.startswith("/"):
            raise Problem("recorder-does-not-run", name=self.name, stderr=_last(done.stderr))
        return place, [printable(one).removesuffix("/manifest.json") for one in left]

    def _run(self, ssh: Sequence[str], command: Sequence[str]) -> int:
        # A terminal there passes Ctrl-C on, and asks for sudo's password.
        terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
        with ending.recorder_hears() as hearing:
            session = subprocess.Popen(
                [*ssh, "-tq" if terminal else "-T", "--", self.name, shlex.join(command)],
                preexec_fn=hearing.restore,
            )
            hearing.hand_to(session.pid)
            returned = session.wait()
        return returned if returned >= 0 else 128 - returned

    def _is_whole(self, ssh: Sequence[str], there: str, within_s: int) -> bool:
        """Whether a recording is, or will be before so long; False as well where the machine cannot be reached."""
        script = shlex.join(["sh", "-c", _WHOLE, "sh", there, str(within_s)])
        return self._asked(ssh, script).returncode == 0

    @contextmanager
    def _held(self, ssh: Sequence[str], place: str) -> Iterator[None]:
        """Until then the recorder there is held by this process: over a session of ssh, which ends when its lifeline does."""
        line = lifeline.Lifeline()
        try:
            session = subprocess.Popen(
                [*ssh, "-T", "--", self.name, shlex.join(["sh", "-c", _HOLD, "sh", place])],
                stdin=line.reader,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        finally:
            line.handed_over()
        with session:
            assert session.stdout is not None
            try:
                if not session.stdout.readline():
                    raise Problem("connection-ended-before-recording-began", name=self.name)
                yield
            finally:
                line.let_go()

    def _remove(self, ssh: Sequence[str], place: str) -> None:
        self._asked(ssh, f"rm -rf {shlex.quote(place)}")

    def _get(self, ssh: Sequence[str], place: str, out: Path) -> bool:
        """Brings the recording, if there is one. It is another machine's word: nothing but its own files is made of it."""
        script = shlex.join(["sh", "-c", _GET, "sh", place, out.name])
        with subprocess.Popen(
            [*ssh, "-T", "--", self.name, script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as sender:
            assert sender.stdout is not None
            try:
                with tarfile.open(fileobj=sender.stdout, mode="r|") as archive:
                    unpack(archive, out)
            except (tarfile.TarError, OSError) as error:
                sender.stdout.close()
                if sender.wait() == _NONE:
                    return False
                raise Problem(
                    "recording-did-not-arrive", name=self.name, error=error, place=place
                ) from error
        return True

    def _asked(
        self, ssh: Sequence[str], script: str, stdin: object = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[bytes]:
        words = [*ssh, "-T", "--", self.name, shlex.join(["sh", "-c", script])]
        return subprocess.run(words, stdin=stdin, capture_output=True, check=False)  # type: ignore[call-overload, no-any-return]


def unpack(archive: tarfile.TarFile, out: Path) -> None:
    """Makes the directory `out` of an archive of one directory of that name, which holds files and directories.

    Raises tarfile.TarError for anything else in it: a link, a path that leads out of it, a device.
    """
    for member in archive:
        parts = PurePosixPath(member.name).parts
        if parts[:1] != (out.name,) or ".." in parts:
            raise tarfile.TarError(f"{member.name!r} is not a file of it")
        path = out.joinpath(*parts[1:])
        if member.isdir():
            path.mkdir(mode=0o700)
        elif member.isreg():
            content = archive.extractfile(member)
            assert content is not None
            with os.fdopen(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                shutil.copyfileobj(content, file, _CHUNK_BYTES)
        else:
            raise tarfile.TarError(f"{member.name!r} is neither a file nor a directory")


def _machine_of(program: Path) -> str:
    """What uname(2) calls the processor that an ELF program is for (elf(5))."""
    with program.open("rb") as file:
        head = file.read(20)
    number = int.from_bytes(head[18:20], "little")
    return _MACHINES.get(number, f"machine {number} of ELF")


def _last(stderr: bytes) -> str:
    """The last line that a program said."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    return printable(lines[-1]) if lines else ""
