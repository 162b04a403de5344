"""Logs of which each line is made durable: by a shell, Node, Java, dd."""

from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_NODE = """
const fs = require('fs');
const [path, lines, each] = [process.argv[1], +process.argv[2], +process.argv[3]];
const file = fs.openSync(path, 'a');
for (let line = 1; line <= lines; line++) {
  fs.writeSync(file, `line ${line}: something happened\\n`);
  if (line % each === 0) fs.fsyncSync(file);
}
fs.closeSync(file);
"""
_JAVA = """
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
class Log {
  public static void main(String[] words) throws java.io.IOException {
    int lines = Integer.parseInt(words[1]), each = Integer.parseInt(words[2]);
    try (FileChannel file = FileChannel.open(Path.of(words[0]), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int line = 1; line <= lines; line++) {
        file.write(ByteBuffer.wrap(("line " + line + ": something happened\\n").getBytes()));
        if (line % each == 0) file.force(false);
      }
    }
  }
}
"""
_SHELL = """
line=1
while [ $line -le "$1" ]; do
  echo "line $line: something happened" >> "$0"
  [ $((line % $2)) -ne 0 ] || sync -d "$0"
  line=$((line + 1))
done
"""
_LINES = 150
_QUIET = (*FINE, "sync-storm", "flush-cost", "device-slow")


def _node(stage: Stage, each: int) -> Plan:
    path = stage.scratch_filesystem(256).path / "log"
    return Plan(("node", "-e", _NODE, str(path), str(stage.choice.count(_LINES)), str(each)))


def _java(stage: Stage, each: int) -> Plan:
    source = stage.folder / "Log.java"
    source.write_text(_JAVA)
    shell.run(("javac", "-d", str(stage.folder), str(source)))
    path = stage.scratch_filesystem(256).path / "log"
    count = str(stage.choice.count(_LINES))
    return Plan(("java", "-cp", str(stage.folder), "Log", str(path), count, str(each)))


def _shell(stage: Stage, each: int) -> Plan:
    path = stage.scratch_filesystem(256).path / "log"
    return Plan(("sh", "-c", _SHELL, str(path), str(stage.choice.count(_LINES)), str(each)))


def _dd(stage: Stage, how: str) -> Plan:
    path: Path = stage.scratch_filesystem(256).path / "out"
    count = stage.choice.count(_LINES)
    return Plan(("dd", "if=/dev/zero", f"of={path}", "bs=4K", f"count={count}", how, "status=none"))


SCENARIOS = (
    Scenario(
        name="node-log",
        title="Node writes a log, with fsyncSync after each line",
        variants=(
            Variant("each", "each line", lambda s: _node(s, 1), ("sync-storm", "flush-cost")),
            Variant("some", "each 50 lines", lambda s: _node(s, 50), _QUIET),
        ),
        devices=("hdd", "flush-slow"),
        remedy=(
            "sync-storm.keep-open",
            "shared.call-once",
            "shared.sync-once",
        ),
        tools=("node",),
    ),
    Scenario(
        name="java-force",
        title="Java writes a log, with FileChannel.force after each line",
        variants=(
            Variant("each", "each line", lambda s: _java(s, 1), ("sync-storm", "flush-cost")),
            Variant("some", "each 50 lines", lambda s: _java(s, 50), _QUIET),
        ),
        devices=("hdd", "flush-slow"),
        remedy=(
            "shared.call-once",
            "shared.sync-once",
        ),
        tools=("javac", "java"),
    ),
    Scenario(
        name="shell-log",
        title="a script appends lines to a log and calls sync after each",
        variants=(
            Variant("each", "each line", lambda s: _shell(s, 1), ("sync-storm", "flush-cost")),
            Variant("some", "each 50 lines", lambda s: _shell(s, 50), _QUIET),
        ),
        devices=("hdd", "flush-slow"),
        remedy=(
            "sync-storm.keep-open",
            "shared.call-once",
            "shared.sync-once",
            "shared.one-start",
        ),
        tools=("sync",),
    ),
    Scenario(
        name="dd-dsync",
        title="dd with oflag=dsync",
        variants=(
            Variant(
                "each",
                "each block durable",
                lambda s: _dd(s, "oflag=dsync"),
                ("sync-storm", "flush-cost"),
            ),
            Variant("end", "conv=fdatasync", lambda s: _dd(s, "conv=fdatasync"), _QUIET),
        ),
        devices=("hdd", "flush-slow"),
        remedy=("dd.sync-at-end",),
        tools=("dd",),
    ),
)
