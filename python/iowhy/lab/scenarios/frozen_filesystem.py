"""A writer on a filesystem that is frozen for a moment, as a snapshot does it."""

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_WRITER = """
{ fsfreeze --freeze "$0" && sleep 2; fsfreeze --unfreeze "$0"; } &
sleep 0.3
for line in 1 2 3; do echo "$line" >>"$0/log"; done
wait
"""


def _writer(stage: Stage) -> Plan:
    return Plan(("sh", "-c", _WRITER, str(stage.scratch_filesystem(64).path)))


SCENARIO = Scenario(
    name="frozen-filesystem",
    title="a writer on a filesystem that is frozen for two seconds",
    variants=(Variant("frozen", "lines to a log", _writer, ("filesystem-frozen",)),),
    devices=("memory",),
    filesystems=("ext4",),
)
