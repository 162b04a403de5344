//! Stacks of this very process: what is really on a stack, unwound by the tables that the compiler made.
#![cfg(target_arch = "x86_64")]

use std::arch::asm;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iowhy_unwind::{Kind, Registers, Stack, Unwinder};

mod common;

use common::Nowhere;

/// More than 200 frames take in a build without optimizations.
const BYTES: usize = 64 * 1024;

#[inline(never)]
fn capture() -> (Registers, Vec<u8>) {
    let (ip, sp, fp): (u64, u64, u64);
    // SAFETY: it only reads registers.
    unsafe {
        asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) ip, out(reg) sp, out(reg) fp);
    }
    let mut memory = vec![0; BYTES];
    let own = std::fs::File::open("/proc/self/mem").unwrap();
    // As the recorder copies it: page by page, as far as there is memory.
    let mut length = 0;
    while length < BYTES {
        let chunk = 4096 - (sp as usize + length) % 4096;
        let end = (length + chunk).min(BYTES);
        if own
            .read_exact_at(&mut memory[length..end], sp + length as u64)
            .is_err()
        {
            break;
        }
        length = end;
    }
    memory.truncate(length);
    let registers = Registers { ip, sp, fp, lr: 0 };
    (registers, memory)
}

#[inline(never)]
fn recurse(deep: u32, sum: &mut u64) -> (Registers, Vec<u8>) {
    let found = match deep {
        0 => capture(),
        _ => recurse(deep - 1, sum),
    };
    // What comes after the call keeps it from becoming a jump.
    *sum += found.0.sp;
    found
}

fn unwind(registers: &Registers, memory: &[u8]) -> Stack {
    Unwinder::new(PathBuf::from("/proc"), Box::new(Nowhere("/proc".into()))).unwind(
        std::process::id(),
        registers,
        memory,
        1,
    )
}

#[test]
fn a_stack_200_deep_leads_to_the_start_of_its_thread() {
    let mut sum = 0;
    let (registers, memory) = recurse(200, &mut sum);
    let stack = unwind(&registers, &memory);
    assert!(stack.whole && sum > 0);
    // All but the innermost of the calls return to one place.
    let mut longest = stack.frames.chunk_by(|a, b| a == b).collect::<Vec<_>>();
    longest.sort_by_key(|run| std::cmp::Reverse(run.len()));
    assert!(
        (198..=200).contains(&longest[0].len()),
        "{}",
        longest[0].len()
    );
}

#[test]
fn what_is_cut_off_is_not_whole_and_what_is_there_is_kept() {
    let (registers, memory) = recurse(20, &mut 0);
    let whole = unwind(&registers, &memory);
    let cut = unwind(&registers, &memory[..memory.len().min(512)]);
    assert!(whole.whole && !cut.whole);
    assert!(!cut.frames.is_empty() && cut.frames.len() < whole.frames.len());
    assert_eq!(cut.frames, whole.frames[..cut.frames.len()]);
    let none = unwind(&registers, &[]);
    assert_eq!((none.frames.len(), none.whole), (1, false));
}

/// The trampoline that CPython 3.12 and 3.13 write for each function of a program with `-X perf`: as objdump shows
/// Python/asm_trampoline.S of a build of theirs, filled up to where the next one begins.
const TRAMPOLINE: [u8; 16] = [
    0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3, 0, 0, 0, 0, 0,
];
type Evaluator = extern "C" fn(&mut Nested, u64, u64) -> u64;
type Trampoline = extern "C" fn(&mut Nested, u64, u64, Evaluator) -> u64;

/// Functions of a program that call each other, each through a trampoline of its own.
struct Nested {
    trampolines: *mut u8,
    called: usize,
    taken: Option<(Registers, Vec<u8>)>,
}

const NESTED: usize = 3;

extern "C" fn evaluate(nested: &mut Nested, _: u64, _: u64) -> u64 {
    if nested.called == NESTED {
        nested.taken = Some(capture());
        return 1;
    }
    let code = nested
        .trampolines
        .wrapping_add(nested.called * TRAMPOLINE.len());
    nested.called += 1;
    // SAFETY: the bytes there are code of this type.
    let trampoline: Trampoline = unsafe { std::mem::transmute(code) };
    trampoline(nested, 0, 0, evaluate) + 1
}

#[test]
fn trampolines_without_frame_pointers_are_stepped_over() {
    const PAGE: usize = 4096;
    // SAFETY: the memory is new, and of one page.
    let trampolines = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let made = libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0);
        assert_ne!(made, libc::MAP_FAILED);
        std::slice::from_raw_parts_mut(made.cast(), NESTED * TRAMPOLINE.len())
            .copy_from_slice(&TRAMPOLINE.repeat(NESTED));
        let executable = libc::mprotect(made, PAGE, libc::PROT_READ | libc::PROT_EXEC);
        assert_eq!(executable, 0);
        made.cast::<u8>()
    };
    let mut nested = Nested {
        trampolines,
        called: 0,
        taken: None,
    };
    assert_eq!(evaluate(&mut nested, 0, 0), NESTED as u64 + 1);
    let (registers, memory) = nested.taken.unwrap();
    let mut unwinder = Unwinder::new(PathBuf::from("/proc"), Box::new(Nowhere("/proc".into())));
    let stack = unwinder.unwind(std::process::id(), &registers, &memory, 1);
    assert!(stack.whole);
    let modules = unwinder.into_modules();
    let of_trampolines: Vec<_> = (0..)
        .zip(&stack.frames)
        .filter(|(_, frame)| modules[frame.module.unwrap() as usize].kind == Kind::Jit)
        .map(|(depth, frame)| (depth, frame.address as usize - trampolines as usize))
        .collect();
    // Innermost first, each in its call, with an evaluator in between: capture ← evaluate ← the last one.
    assert_eq!(of_trampolines, [(2, 37), (4, 21), (6, 5)]);
}
