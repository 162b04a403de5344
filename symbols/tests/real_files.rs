//! Names of files that a compiler made, against what is known of them; and of damaged ones, which cost only their names.

use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use iowhy_symbols::{build_id_of, name, Frame, Kind, Module};
use proptest::prelude::*;

const SOURCE: &str = "\
__attribute__((noinline)) int leaf(int x) { volatile int y = x; return y; }
static inline __attribute__((always_inline)) int within(int x) { return leaf(x) + 1; }
__attribute__((noinline)) int outer(int x) {
    return within(x) * 2;
}
int main(int n, char **v) { (void)v; return outer(n); }
";

/// A program of SOURCE, with the address of each of its functions (nm).
struct Made {
    folder: tempfile::TempDir,
    program: PathBuf,
    functions: HashMap<String, Range<u64>>,
}

impl Made {
    fn start(&self, function: &str) -> u64 {
        self.functions[function].start
    }
}

fn made(options: &[&str]) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("made.c");
    fs::write(&source, SOURCE).unwrap();
    let program = folder.path().join("made");
    run(Command::new("cc")
        .args(["-g", "-O1", "-Wl,--build-id=sha1"])
        .args(options)
        .arg(&source)
        .arg("-o")
        .arg(&program));
    let listed = run(Command::new("nm").arg("-S").arg(&program));
    let functions = listed
        .lines()
        .filter_map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let [start, size, _, name] = words[..] else {
                return None;
            };
            let start = u64::from_str_radix(start, 16).ok()?;
            let size = u64::from_str_radix(size, 16).ok()?;
            Some((name.to_owned(), start..start + size))
        })
        .collect();
    Made {
        folder,
        program,
        functions,
    }
}

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(
        done.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

fn module(path: &Path, build_id: Option<String>) -> Module {
    Module {
        lines: true,
        path: path.to_owned(),
        build_id,
        kind: Kind::File,
        file: None,
        root: None,
        process: None,
    }
}

fn frames(module: Module, addresses: &[u64]) -> HashMap<u64, Vec<Frame>> {
    let wanted = vec![(1, module, addresses.to_vec())];
    let mut names = name(wanted, Duration::from_secs(60));
    assert!(names.complete);
    names.of_modules.remove(&1).unwrap_or_default()
}

fn functions(frames: &[Frame]) -> Vec<&str> {
    frames
        .iter()
        .filter_map(|frame| frame.function.as_deref())
        .collect()
}

#[test]
fn functions_lines_and_inlined_ones_are_named() {
    for options in [&[][..], &["-no-pie"], &["-static"], &["-gz"], &["-O3"]] {
        let made = made(options);
        let id = build_id_of(File::open(&made.program).unwrap());
        let addresses: Vec<u64> = made.functions["outer"].clone().collect();
        let found = frames(module(&made.program, id), &addresses);
        let inlined = found.values().find(|frames| frames.len() == 2).unwrap();
        assert_eq!(functions(inlined), ["within", "outer"], "{options:?}");
        let lines: Vec<_> = inlined.iter().map(|frame| frame.line).collect();
        assert_eq!(lines, [Some(2), Some(4)]);
        assert!(inlined[0].file.as_deref().unwrap().ends_with("/made.c"));
        assert!(found
            .values()
            .all(|frames| functions(frames).last() == Some(&"outer")));
    }
}

#[test]
fn lines_come_from_a_separate_file_by_its_link_and_build_id() {
    let made = made(&[]);
    let debug = made.folder.path().join("made.debug");
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(&made.program)
        .arg(&debug));
    run(Command::new("objcopy")
        .arg("--strip-all")
        .arg(format!("--add-gnu-debuglink={}", debug.display()))
        .arg(&made.program));
    let id = build_id_of(File::open(&made.program).unwrap());
    let start = made.start("leaf");
    let leaf = |id: &Option<String>| frames(module(&made.program, id.clone()), &[start]);
    assert_eq!(leaf(&id)[&start][0].line, Some(1));
    fs::remove_file(&debug).unwrap();
    assert!(leaf(&id).is_empty(), "stripped: it has no names");
}

/// As GDB's manual makes it ("MiniDebugInfo"): the functions that .dynsym does not have, in a file of their own, compressed.
#[test]
fn functions_are_named_by_the_file_within_as_fedora_keeps_them() {
    let made = made(&[]);
    let at = |name: &str| made.folder.path().join(name);
    let (mini, packed, stripped) = (at("mini"), at("mini.xz"), at("stripped"));
    let objcopy = || Command::new("objcopy");
    run(objcopy()
        .args(["-S", "--remove-section=.comment", "--keep-symbol=leaf"])
        .arg(&made.program)
        .arg(&mini));
    run(Command::new("xz").args(["-k", "-f"]).arg(&mini));
    let id = build_id_of(File::open(&made.program).unwrap());
    let (start, other) = (made.start("leaf"), made.start("outer"));
    let named = |packed: &Path| {
        run(objcopy()
            .arg("--strip-all")
            .arg(format!("--add-section=.gnu_debugdata={}", packed.display()))
            .arg(&made.program)
            .arg(&stripped));
        frames(module(&stripped, id.clone()), &[start, other])
    };
    let found = named(&packed);
    assert_eq!(functions(&found[&start]), ["leaf"]);
    assert!(!found.contains_key(&other), "it is in neither file");
    // Damaged, at its end and within: it costs what it would name.
    let whole = fs::read(&packed).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 0xff;
    for damaged in [&whole[..whole.len() / 2], &changed, b"", b"no xz"] {
        fs::write(&packed, damaged).unwrap();
        assert!(named(&packed).is_empty());
    }
    fs::write(&packed, &whole).unwrap();
    assert_eq!(named(&packed).len(), found.len());
}

#[test]
fn a_file_that_was_replaced_names_nothing() {
    let (old, new) = (made(&[]), made(&["-DOTHER", "-O0"]));
    let id = build_id_of(File::open(&old.program).unwrap());
    let start = old.start("leaf");
    let kept = File::open(&old.program).unwrap();
    fs::rename(&new.program, &old.program).unwrap();
    assert!(frames(module(&old.program, id.clone()), &[start]).is_empty());
    assert!(
        frames(module(&old.program, None), &[start]).is_empty(),
        "without an id nobody knows"
    );
    let mut held = module(&old.program, id);
    held.file = Some(kept);
    assert_eq!(functions(&frames(held, &[start])[&start]), ["leaf"]);
}

#[test]
fn another_root_is_the_one_that_its_process_sees() {
    let made = made(&[]);
    let root = made.folder.path().join("root");
    fs::create_dir_all(root.join("app")).unwrap();
    fs::copy(&made.program, root.join("app/made")).unwrap();
    std::os::unix::fs::symlink("/app/made", root.join("link")).unwrap();
    let start = made.start("leaf");
    let mut seen = module(
        Path::new("/link"),
        build_id_of(File::open(&made.program).unwrap()),
    );
    seen.root = Some(File::open(&root).unwrap());
    assert_eq!(functions(&frames(seen, &[start])[&start]), ["leaf"]);
}

#[test]
fn a_perf_map_of_another_user_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tmp")).unwrap();
    fs::write(
        folder.path().join("tmp/perf-7.map"),
        "1000 20 py::work:/app.py\n",
    )
    .unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(folder.path()).unwrap());
    for (uid, named) in [(owner, true), (owner + 1, owner == 0)] {
        let mut jit = module(Path::new("[jit]"), None);
        jit.kind = Kind::Jit;
        jit.root = Some(File::open(folder.path()).unwrap());
        jit.process = Some((7, uid));
        assert_eq!(!frames(jit, &[0x1010]).is_empty(), named);
    }
}

#[test]
fn the_kernels_own_code_in_a_process_is_named() {
    let mut vdso = module(Path::new("[vdso]"), None);
    vdso.kind = Kind::Vdso;
    let found = frames(vdso, &(0x400..0x2000).collect::<Vec<_>>());
    assert!(found
        .values()
        .any(|frames| functions(frames)[0].contains("clock_gettime")));
}

#[test]
fn a_pipe_in_the_place_of_a_file_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    run(Command::new("mkfifo").arg(&path));
    assert!(frames(module(&path, Some("00".repeat(20))), &[1]).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes changed, and the end cut off: no panic is seen outside, and the next module has its names.
    #[test]
    fn a_damaged_file_costs_only_its_own_names(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        headers in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        thread_local!(static MADE: Made = made(&[]));
        MADE.with(|made| {
            let mut bytes = fs::read(&made.program).unwrap();
            let whole = bytes.len();
            for (at, value) in &changes {
                // Half of the cases change the file's header and the table of its sections, where it hurts most.
                let place = if headers { whole - 1 - at.index(whole / 6) } else { at.index(whole) };
                bytes[place] = *value;
            }
            if let Some(cut) = &cut {
                bytes.truncate(cut.index(whole));
            }
            let path = made.folder.path().join("damaged");
            fs::write(&path, bytes).unwrap();
            let addresses: Vec<u64> = made.functions["outer"].clone().collect();
            let mut damaged = module(&path, None);
            damaged.file = Some(File::open(&path).unwrap());
            let id = build_id_of(File::open(&made.program).unwrap());
            let wanted = vec![(1, damaged, addresses.clone()), (2, module(&made.program, id), addresses)];
            let named = name(wanted, Duration::from_secs(60)).of_modules;
            let start = made.start("outer");
            assert_eq!(functions(&named[&2][&start]).last(), Some(&"outer"));
        });
    }
}
