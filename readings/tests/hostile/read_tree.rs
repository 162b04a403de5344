//! A /proc and a /sys of arbitrary bytes, read in every way: shared by the tests and the fuzz target (`fuzz/`).

use std::fs;
use std::path::Path;

use iowhy_readings::devices::Disks;
use iowhy_readings::mounts::Mounts;
use iowhy_readings::sampler::process_io::ProcessIo;
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::watcher::ProcWatcher;
use iowhy_readings::{Reading, Roots};

/// The files, in the order of their texts, which a zero byte parts.
pub const FILES: [&str; 22] = [
    "proc/stat",
    "proc/vmstat",
    "proc/meminfo",
    "proc/diskstats",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/pressure/memory",
    "proc/self/mountinfo",
    "proc/self/io",
    "proc/7/io",
    "proc/7/cgroup",
    "proc/7/task/7/stat",
    "proc/7/task/7/schedstat",
    "proc/7/task/7/children",
    "sys/block/vda/dev",
    "sys/block/vda/vda1/dev",
    "sys/block/vda/vda1/partition",
    "sys/fs/cgroup/g/cpu.max",
    "sys/fs/cgroup/g/cpu.stat",
    "sys/fs/cgroup/g/memory.max",
    "sys/fs/cgroup/g/memory.events",
    "sys/fs/cgroup/g/io.stat",
];

/// Stands for the folder of the tree, where mounts are.
const HERE: &[u8] = b"@";

/// Writes the tree below `root` and reads it twice; what it makes of the text is not looked at.
pub fn read(root: &Path, texts: &[u8]) -> usize {
    for (path, text) in FILES.iter().zip(texts.split(|&c| c == 0)) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, placed(text, root)).unwrap();
    }
    let roots = Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
        ..Roots::default()
    };
    let mut rows = 0;
    let mut count = |_: Reading| rows += 1;
    let mut samplers = Samplers::new(&roots, Scope { pid: Some(7) });
    let mut watcher = ProcWatcher::new(&roots, [7], None, 0);
    let mut process_io = ProcessIo::new(&roots);
    for now_ns in [1, 2_000_000_000] {
        samplers.sample(now_ns, &mut count);
        let _ = watcher.sample(now_ns, &mut count);
        if let Ok(process_io) = &mut process_io {
            let _ = process_io.sample(now_ns, [7]);
        }
    }
    let _ = watcher.finish(3_000_000_000, &mut count);
    if let (Ok(mounts), Ok(disks)) = (Mounts::read(&roots), Disks::read(&roots.sys)) {
        rows += mounts
            .iter()
            .filter_map(|mount| disks.of_mount(mount))
            .count();
    }
    rows
}

fn placed(text: &[u8], root: &Path) -> Vec<u8> {
    let root = root.as_os_str().as_encoded_bytes();
    let parts: Vec<&[u8]> = text.split(|c| [*c] == HERE).collect();
    parts.join(root)
}
