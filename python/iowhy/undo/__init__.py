"""The undo journal: whatever is changed on the machine is put back, on every way out.

Each action is written to a journal, and the journal to its disk, *before* the action is done. The
session undoes its actions in reverse when it ends, whether by return, exception or signal; what a
killed session left is undone by the next :func:`recover`.

    with Undo.session("experiment") as undo:
        group = undo.rmdir_cgroup("/sys/fs/cgroup/cpu/iowhy-1234")   # journalled, not yet made
        Path("/sys/fs/cgroup/cpu/iowhy-1234").mkdir()
        …
        undo.now(group)                                              # undone early
"""

from iowhy.undo.journal import state_directory
from iowhy.undo.kinds.mounts import opposite_option
from iowhy.undo.kinds.processes import MARK_VARIABLE
from iowhy.undo.kinds.trees import MARKER_FILE
from iowhy.undo.recovery import recover
from iowhy.undo.session import Undo

__all__ = ["MARKER_FILE", "MARK_VARIABLE", "Undo", "opposite_option", "recover", "state_directory"]
