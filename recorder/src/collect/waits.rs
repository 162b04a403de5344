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

/// The reason of each stack that was met.
#[derive(Default)]
pub struct Waits {
    reasons: HashMap<i32, Name>,
}

impl Waits {
    /// Writes a wait, and its stack when that is new.
    pub fn add(&mut self, e: &Wait, stack: ReadStack<'_>, recording: &mut Recording) -> Result<()> {
        let reason = if e.stack < 0 {
            Cow::Borrowed(reasons::OTHER)
        } else if let Some(reason) = self.reasons.get(&e.stack) {
            reason.clone()
        } else {
            self.name(e.stack, stack(e.stack), recording)?
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

    /// Writes a stack's row and gives the reason that it stands for.
    fn name(&mut self, id: i32, frames: Vec<String>, recording: &mut Recording) -> Result<Name> {
        // What every wait has, the programs and the scheduler, is taken off the inner end.
        let frames: Vec<String> = frames
            .into_iter()
            .skip_while(|frame| reasons::is_scheduler(frame))
            .collect();
        let reason: Name = Cow::Borrowed(reasons::of(&frames));
        self.reasons.insert(id, reason.clone());
        recording.push(rows::Stacks {
            stack_id: id.into(),
            frames: frames.into_iter().map(Cow::Owned).collect(),
        })?;
        Ok(reason)
    }
}
