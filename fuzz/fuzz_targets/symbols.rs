#![no_main]
//! A program's file, or the map of a JIT's code, that somebody else wrote.
use std::fs::{create_dir_all, write, File};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use iowhy_symbols::{build_id_of, name, Kind, Module};
use libfuzzer_sys::fuzz_target;

const ADDRESSES: [u64; 7] = [
    0,
    0x1000,
    0x40_010c,
    0x40_0111,
    0x40_0114,
    0x40_1010,
    u64::MAX,
];

fuzz_target!(|bytes: &[u8]| {
    // A panic that is caught where it costs one file's names is what shall happen; one that is not ends the target still.
    std::panic::set_hook(Box::new(|_| {}));
    let root = iowhy_fuzz::scratch();
    let module = if bytes.starts_with(b"\x7fELF") {
        let path = root.join("program");
        write(&path, bytes).unwrap();
        let _ = build_id_of(File::open(&path).unwrap());
        let file = Some(File::open(&path).unwrap());
        Module {
            path,
            build_id: None,
            kind: Kind::File,
            file,
            root: None,
            process: None,
            lines: true,
        }
    } else {
        create_dir_all(root.join("tmp")).unwrap();
        let path = root.join("tmp/perf-7.map");
        write(&path, bytes).unwrap();
        let owner = path.metadata().unwrap().uid();
        let root = Some(File::open(root).unwrap());
        Module {
            path,
            build_id: None,
            kind: Kind::Jit,
            file: None,
            root,
            process: Some((7, owner)),
            lines: true,
        }
    };
    name(
        vec![(1, module, ADDRESSES.to_vec())],
        Duration::from_secs(5),
    );
});
