//! Stacks that were made by hand, and memory of those who mean ill.

use std::path::Path;

use iowhy_unwind::{Kind, Mapped, Registers, Unwinder, FRAMES_MOST};
use proptest::prelude::*;

mod common;

use common::Nowhere;

const STACK: u64 = 0x7fff_0000_0000;
const CODE: u64 = 0x10_0000;

/// A procfs with one process, whose code is in memory without a file: there frame pointers are followed.
fn process(tgid: u32) -> (tempfile::TempDir, Unwinder) {
    let proc = tempfile::tempdir().unwrap();
    let folder = proc.path().join(tgid.to_string());
    std::fs::create_dir(&folder).unwrap();
    let line = format!("{CODE:x}-{:x} r-xp 00000000 00:00 0 \n", CODE + 0x10_0000);
    std::fs::write(folder.join("maps"), line).unwrap();
    let unwinder = Unwinder::new(
        proc.path().to_owned(),
        Box::new(Nowhere(proc.path().into())),
    );
    (proc, unwinder)
}

/// A page of code in memory without a file.
fn code(start: u64) -> Mapped {
    Mapped {
        start,
        end: start + 0x1000,
        offset: 0,
        dev: 0,
        ino: 0,
        path: Vec::new(),
    }
}

fn memory(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn registers(fp: u64) -> Registers {
    Registers {
        ip: CODE + 0x10,
        sp: STACK,
        fp,
        lr: CODE + 0x100,
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn frame_pointers_lead_from_caller_to_caller() {
    let (_proc, mut unwinder) = process(7);
    // At each frame pointer: the one of the caller, and where it returns to.
    let stack = [0, STACK + 32, CODE + 0x100, 0, 0, CODE + 0x200];
    let found = unwinder.unwind(7, &registers(STACK + 8), &memory(&stack), 1);
    let addresses: Vec<_> = found.frames.iter().map(|frame| frame.address).collect();
    assert_eq!(addresses, [CODE + 0x10, CODE + 0xff, CODE + 0x1ff]);
    assert!(found.whole);
    let modules = unwinder.into_modules();
    assert_eq!((modules.len(), modules[0].kind), (1, Kind::Jit));
    assert_eq!((modules[0].tgid, modules[0].used), (Some(7), true));
}

/// CPython's, of which the trampoline at CODE + 0x100 returns to the one at CODE + 0x200, and that to a caller with a frame pointer.
#[test]
#[cfg(target_arch = "x86_64")]
fn trampolines_are_known_by_their_bytes_also_of_a_process_that_is_gone() {
    use std::os::unix::fs::FileExt;
    const TRAMPOLINE: [u8; 11] = [0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3];
    let (proc, mut unwinder) = process(7);
    let written = std::fs::File::create(proc.path().join("7/mem")).unwrap();
    written.set_len(CODE + 0x10_0000).unwrap();
    for start in [0x100, 0x200] {
        written.write_all_at(&TRAMPOLINE, CODE + start).unwrap();
    }
    // What lies below the address that it returns to, by the instruction that comes next.
    for (next, below) in [(0, 0), (4, 1), (6, 1), (10, 0)] {
        let mut words = vec![0x1111; below];
        words.extend([CODE + 0x206, 0x2222, CODE + 0x300]);
        let caller = STACK + 8 * (words.len() as u64);
        words.extend([0, CODE + 0x400, 0x3333, 0]);
        let from = Registers {
            ip: CODE + 0x100 + next,
            ..registers(caller)
        };
        let found = unwinder.unwind(7, &from, &memory(&words), 1);
        let addresses: Vec<_> = found.frames.iter().map(|frame| frame.address).collect();
        let callers = [0x100 + next, 0x205, 0x2ff, 0x3ff].map(|at| CODE + at);
        assert_eq!(addresses, callers);
        std::fs::remove_dir_all(proc.path().join("7")).ok();
    }
    // Other code comes there, which is no trampoline as far as anybody knows.
    unwinder.map(7, code(CODE));
    let from = Registers {
        ip: CODE + 0x106,
        ..registers(0)
    };
    let found = unwinder.unwind(7, &from, &memory(&[0, CODE + 0x206]), 1);
    assert_eq!(found.frames.len(), 1);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn frame_pointers_that_loop_end() {
    let (_proc, mut unwinder) = process(7);
    let stack = [STACK, CODE + 0x100, STACK, CODE + 0x100];
    let found = unwinder.unwind(7, &registers(STACK), &memory(&stack), 1);
    assert!(!found.whole && found.frames.len() <= 3);
}

#[test]
fn a_process_that_is_gone_has_what_its_events_said() {
    let (_proc, mut unwinder) = process(7);
    let frames = |unwinder: &mut Unwinder, tgid| {
        let found = unwinder.unwind(tgid, &registers(0), &[], 1);
        found.frames.len()
    };
    assert_eq!(frames(&mut unwinder, 8), 0);
    unwinder.exec(9);
    unwinder.map(9, code(CODE));
    assert_eq!(frames(&mut unwinder, 9), 1);
    unwinder.fork(9, 10);
    assert_eq!(frames(&mut unwinder, 10), 1);
    unwinder.exec(10);
    assert_eq!(
        (frames(&mut unwinder, 10), frames(&mut unwinder, 9)),
        (0, 1)
    );
}

#[test]
fn files_that_are_no_programs_cost_nothing_but_their_tables() {
    let (proc, mut unwinder) = process(7);
    let file = proc.path().join("not-elf");
    std::fs::write(&file, b"\x7fELF\x02\x01\x01").unwrap();
    let mapped = Mapped {
        start: CODE,
        end: CODE + 0x1000,
        offset: 0,
        dev: 1,
        ino: std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap()),
        path: Path::as_os_str(&file).as_encoded_bytes().to_vec(),
    };
    unwinder.exec(9);
    unwinder.map(9, mapped);
    assert_eq!(unwinder.unwind(9, &registers(0), &[], 1).frames.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_memory_makes_more_frames_than_are_kept(
        words in prop::collection::vec(
            prop_oneof![CODE..CODE + 0x1000, STACK..STACK + 0x2000, any::<u64>()],
            0..2048,
        ),
        fp in prop_oneof![STACK..STACK + 0x2000, any::<u64>()],
    ) {
        let (_proc, mut unwinder) = process(7);
        let found = unwinder.unwind(7, &registers(fp), &memory(&words), 1);
        prop_assert!(!found.frames.is_empty() && found.frames.len() <= FRAMES_MOST);
    }

    /// Registers anywhere in the code of this process, and a stack of addresses in it and of anything.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn no_stack_is_too_much_for_real_tables(
        seed in prop::collection::vec((any::<u32>(), any::<u64>()), 1..512),
        fp in 0..0x1000_u64,
    ) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let code: Vec<(u64, u64)> = maps
            .lines()
            .filter(|line| line.contains("r-xp"))
            .filter_map(|line| line.split(' ').next()?.split_once('-'))
            .map(|(a, b)| (u64::from_str_radix(a, 16).unwrap(), u64::from_str_radix(b, 16).unwrap()))
            .filter(|(start, _)| start >> 63 == 0)
            .collect();
        let word = |(choice, value): &(u32, u64)| match choice % 4 {
            0 => *value,
            1 => STACK + value % 0x1000,
            _ => {
                let (start, end) = code[*choice as usize / 4 % code.len()];
                start + value % (end - start)
            }
        };
        let words: Vec<u64> = seed.iter().map(word).collect();
        let from = Registers {
            ip: word(&(seed[0].0 | 3, seed[0].1)),
            sp: STACK,
            fp: STACK + fp,
            lr: 0,
        };
        let mut unwinder = Unwinder::new("/proc".into(), Box::new(Nowhere("/proc".into())));
        let found = unwinder.unwind(std::process::id(), &from, &memory(&words), 1);
        prop_assert!(found.frames.len() <= FRAMES_MOST);
    }
}
