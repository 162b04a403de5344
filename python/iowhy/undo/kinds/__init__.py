"""The kinds of action that can be undone: what an entry must hold, and how it is put back.

An entry is a JSON object. ``check`` refuses one that this program would never have written, since a
journal may have been tampered with; ``undo`` puts the machine back and may be called any number of
times: what is already as it was is left alone.
"""

from iowhy.undo.kinds.entry import Kind
from iowhy.undo.kinds.groups import RMDIR_CGROUP
from iowhy.undo.kinds.knobs import WRITE_FILE
from iowhy.undo.kinds.loops import LOSETUP_DETACH
from iowhy.undo.kinds.mounts import REMOUNT, UMOUNT
from iowhy.undo.kinds.processes import KILL_MARKED
from iowhy.undo.kinds.trees import REMOVE_TREE

KINDS: dict[str, Kind] = {
    "remount": REMOUNT,
    "umount": UMOUNT,
    "losetup-detach": LOSETUP_DETACH,
    "kill-marked": KILL_MARKED,
    "rmdir-cgroup": RMDIR_CGROUP,
    "write-file": WRITE_FILE,
    "remove-tree": REMOVE_TREE,
}
