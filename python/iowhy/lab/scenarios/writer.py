"""Control: a healthy sequential writer that its disk keeps up with."""

from iowhy.lab import shell
from iowhy.lab.disks import MIB
from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _fio(stage: Stage) -> Plan:
    shell.need("fio")
    filesystem = stage.scratch_filesystem(1024)
    size = stage.choice.size(80)
    return Plan(
        (
            "fio", "--name=writer", f"--filename={filesystem.path / 'log'}", "--rw=write", "--bs=128k",
            f"--size={size}", "--rate=20m", "--ioengine=psync", "--output=/dev/null", "--thread",
        ),
        printed=lambda _text: {"bytes": size, "MiB": size / MIB},
    )  # fmt: skip


SCENARIO = Scenario(
    name="writer",
    title="fio writes 20 MiB/s in order through the cache",
    variants=(Variant("fio", "at its own pace", _fio, ("not-io", "healthy")),),
    devices=("hdd", "ssd", "file"),
    tools=("fio",),
)
