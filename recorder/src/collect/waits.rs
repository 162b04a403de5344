//! Waits, and the kernel's stacks that say what they are for.

use std::borrow::Cow;
use std::collections::HashMap;

use iowhy_store::Result;
use iowhy_store::{rows, Name, Recording};
use iowhy_tables::reasons;

use crate::calls;
use crate::event::{layout, Wait};

/// Reads a stack by its id: the functions, innermost first.
pub type ReadStack<'a> = &'a mut dyn FnMut(i32) -> Vec<String>;

/// The reason of each stack that was met, and whether for waits that may be none.
#[derive(Default)]
pub struct Waits {
    reasons: HashMap<(i32, bool), Name>,
}

impl Waits {
    /// Writes a wait, and its stack when that is new.
    pub fn add(&mut self, e: &Wait, stack: ReadStack<'_>, recording: &mut Recording) -> Result<()> {
        let of_any_kind = e.header.flags & layout::WAIT_OF_ANY_KIND != 0;
        let reason = if e.stack < 0 {
            Cow::Borrowed(match of_any_kind {
                true => reasons::SLEEP,
                false => reasons::OTHER,
            })
        } else if let Some(reason) = self.reasons.get(&(e.stack, of_any_kind)) {
            reason.clone()
        } else {
            self.name(e.stack, of_any_kind, stack, recording)?
        };
        let has_file = e.header.flags & layout::WAIT_HAS_FILE != 0;
        recording.push(rows::Waits {
            ts_ns: e.ts as i64,
            dur_ns: e.dur as i64,
            tgid: e.tgid.into(),
            tid: e.header.tid.into(),
            reason,
            io: e.header.flags & layout::WAIT_IN_IOWAIT != 0,
            stack_id: (e.stack >= 0).then_some(e.stack.into()),
            syscall: calls::name(e.header.nr).map(Cow::Borrowed),
            dev: has_file.then_some(e.dev.into()),
            ino: has_file.then_some(e.ino as i64),
        })
    }

    /// Writes a stack's row, if it has none, and gives the reason that it stands for.
    fn name(
        &mut self,
        id: i32,
        of_any_kind: bool,
        stack: ReadStack<'_>,
        recording: &mut Recording,
    ) -> Result<Name> {
        // What every wait has, the programs and the scheduler, is taken off the inner end.
        let frames: Vec<String> = stack(id)
            .into_iter()
            .skip_while(|frame| reasons::is_scheduler(frame))
            .collect();
        let reason: Name = Cow::Borrowed(match of_any_kind {
            true => reasons::of_any_kind(&frames),
            false => reasons::of(&frames),
        });
        let is_written = self.reasons.contains_key(&(id, !of_any_kind));
        self.reasons.insert((id, of_any_kind), reason.clone());
        if is_written {
            return Ok(reason);
        }
        recording.push(rows::Stacks {
            stack_id: id.into(),
            frames: frames.into_iter().map(Cow::Owned).collect(),
        })?;
        Ok(reason)
    }
}
