//! The work on names: by modules and parts, in a thread that time ends.

use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bound::{self, Bound};
use crate::room::Room;
use crate::{dwarf, elf, perf_map, separate, vdso, Frame, Kind, Module, Named, Wanted};

/// How often it is seen to that a library which does not look at the time ends.
const LOOK: Duration = Duration::from_millis(20);

/// What of a module is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Part {
    /// The functions of its symbols.
    Functions,
    Lines,
}

/// What the thread that looks for names says, in the order in which it does it.
#[derive(Serialize, Deserialize)]
pub enum Said {
    Begun(Part, i64),
    Found(i64, Named),
    TooLarge(i64),
    /// That was all.
    Done,
}

/// Looks for names, but for those of parts that have `begun` before; `say` is called as they are found, and is false where nobody
/// listens. Ends after `most` on a CPU, or twice that.
pub fn name_each(
    wanted: Wanted,
    begun: HashSet<(Part, i64)>,
    most: Duration,
    say: impl FnMut(Said) -> bool + Send + 'static,
) {
    let bound = Bound::of(most);
    let (ended, end) = mpsc::channel::<()>();
    // The libraries that read DWARF cannot be told to stop: their thread is left alone when time is up.
    let spawned = std::thread::Builder::new()
        .name("names".to_owned())
        .spawn(move || {
            name_all(&wanted, &begun, &bound, say);
            drop(ended);
        });
    let Ok(thread) = spawned else { return };
    while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if bound.is_over(bound::clock_of(&thread)) {
            return;
        }
    }
}

/// First by symbols, which is quick, for all modules; then with lines.
fn name_all(
    wanted: &Wanted,
    begun: &HashSet<(Part, i64)>,
    bound: &Bound,
    mut say: impl FnMut(Said) -> bool,
) {
    for part in [Part::Functions, Part::Lines] {
        for (id, module, addresses) in wanted {
            if begun.contains(&(part, *id)) {
                continue;
            }
            if bound.is_reached() || !say(Said::Begun(part, *id)) {
                return;
            }
            let room = Room::new();
            // What is damaged in a way that nobody foresaw costs its own names.
            let found = catch_unwind(AssertUnwindSafe(|| match part {
                Part::Functions => by_name(module, addresses, bound, &room),
                Part::Lines => by_line(module, addresses, bound, &room),
            }));
            let found = found.unwrap_or_default();
            if room.was_full() && !say(Said::TooLarge(*id)) {
                return;
            }
            if !found.is_empty() && !say(Said::Found(*id, found)) {
                return;
            }
        }
    }
    if !bound.is_reached() {
        say(Said::Done);
    }
}

fn by_name(module: &Module, addresses: &[u64], bound: &Bound, room: &Room) -> Named {
    match module.kind {
        Kind::Anonymous => Named::new(),
        Kind::Jit => perf_map::name(module, addresses, bound),
        Kind::Vdso => match vdso::own(module.build_id.as_deref()) {
            Some(elf) => by_symbols(&elf.symbols(), addresses),
            None => Named::new(),
        },
        Kind::File => {
            let (main, beside) = separate::files(module, room);
            let within = match (&main, &beside) {
                (Some(main), None) => main.within(),
                _ => None,
            };
            let mut symbols = elf::Symbols::default();
            for elf in [&beside, &main, &within].into_iter().flatten() {
                symbols.add(elf);
            }
            symbols.sort();
            by_symbols(&symbols, addresses)
        }
    }
}

fn by_line(module: &Module, addresses: &[u64], bound: &Bound, room: &Room) -> Named {
    if module.kind != Kind::File || !module.lines {
        return Named::new();
    }
    let (main, beside) = separate::files(module, room);
    let Some(lines) = beside
        .or(main)
        .and_then(|elf| dwarf::Lines::of(&elf, module))
    else {
        return Named::new();
    };
    let in_time = addresses.iter().take_while(|_| !bound.is_reached());
    in_time
        .map(|&address| (address, lines.frames(address)))
        .collect()
}

fn by_symbols(symbols: &elf::Symbols, addresses: &[u64]) -> Named {
    let of_one = |&address: &u64| {
        let function = Some(symbols.name(address)?);
        let frame = Frame {
            function,
            ..Frame::default()
        };
        Some((address, vec![frame]))
    };
    addresses.iter().filter_map(of_one).collect()
}
