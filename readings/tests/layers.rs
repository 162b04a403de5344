//! What lies on what: devices and filesystems of a made-up machine, and the extents of real files.

mod made_sys;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use iowhy_readings::layout::{row, Bounds, Layout, Phase};
use iowhy_readings::mounts::Mounts;
use iowhy_readings::reach::space_of;
use iowhy_readings::{devices, filesystems, Roots};
use iowhy_store::rows;
use made_sys::{put, put_devices, put_partitions};

const VDA: i64 = 254 << 20;
const VDB: i64 = 254 << 20 | 16;

/// Two disks, one with a partition, and what lies on them: loops, a mapping, an array.
struct Machine {
    roots: Roots,
    mounts: Mounts,
    _files: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        let files = tempfile::tempdir().unwrap();
        put_disks(files.path());
        put_loops_and_mappings(files.path());
        let roots = Roots {
            proc: files.path().join("proc"),
            sys: files.path().join("sys"),
            ..Roots::default()
        };
        Machine {
            mounts: Mounts::read(&roots).unwrap(),
            roots,
            _files: files,
        }
    }
}

fn put_disks(root: &Path) {
    put_devices(
        root,
        &[
            ("vda", "254:0"),
            ("vdb", "254:16"),
            ("loop0", "7:0"),
            ("loop1", "7:1"),
            ("loop2", "7:2"),
            ("loop3", "7:3"),
            ("dm-0", "252:0"),
            ("md0", "9:0"),
            ("cciss!c0d0", "104:0"),
        ],
    );
    put_partitions(root, &[("vda", "vda1", "254:1\n")]);
    put(root, "sys/block/vda/queue/rotational", "0\n");
    put(root, "sys/block/vda/queue/write_cache", "write back\n");
    put(
        root,
        "sys/block/vda/queue/scheduler",
        "none [mq-deadline] kyber \n",
    );
    put(root, "sys/block/vda/queue/max_sectors_kb", "1280\n");
    put(root, "sys/block/vda/queue/nr_requests", "256\n");
    put(root, "sys/block/vda/device/queue_depth", "32\n");
    put(root, "sys/block/vda/size", "2048\n");
    put(root, "sys/block/vda/device/model", "QEMU HARDDISK   \n");
    put(root, "sys/block/vdb/device/name", "SD32G\n");
    put(root, "sys/block/vdb/nsid", "3\n");
    put(root, "sys/block/md0/md/level", "raid1\n");
}

fn put_loops_and_mappings(root: &Path) {
    // On a partition's filesystem, on btrfs (whose number is anonymous), on nothing, and on a disk itself.
    put(
        root,
        "sys/block/loop0/loop/backing_file",
        "/data/a b.img (deleted)\n",
    );
    put(root, "sys/block/loop1/loop/backing_file", "/btrfs/image\n");
    put(root, "sys/block/loop2/loop/backing_file", "/shm/image\n");
    put(root, "sys/block/loop3/loop/backing_file", "/dev/vdb\n");
    put(root, "sys/block/dm-0/slaves/vda1", "");
    put(root, "sys/block/dm-0/dm/name", "vg-a b\n");
    put(root, "sys/block/dm-0/dm/uuid", "LVM-ZoBKxWzbyRVy\n");
    put(root, "sys/block/md0/slaves/vda", "");
    put(root, "sys/block/md0/slaves/vdb", "");
    put(
        root,
        "proc/self/mountinfo",
        "1 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard\n\
         2 1 0:50 / /btrfs rw - btrfs /dev/vdb rw,ssd\n\
         3 1 0:51 / /shm rw,noexec - tmpfs tmpfs rw,size=1k\n\
         4 1 254:1 /srv /bind\\040mount ro - ext4 /dev/vda1 rw,discard\n",
    );
}

#[test]
fn disks_and_what_lies_below_them() {
    let machine = Machine::new();
    let disks = devices::all(&machine.roots, &machine.mounts).unwrap();
    let disks: Vec<_> = disks.into_iter().map(|disk| disk.row).collect();
    let find = |name: &str| disks.iter().find(|row| row.name == name).unwrap();
    let vda = rows::Devices {
        dev: VDA,
        name: "vda".into(),
        below_dev: None,
        rotational: Some(false),
        write_cache: Some("write back".into()),
        scheduler: Some("mq-deadline".into()),
        max_request_bytes: Some(1280 * 1024),
        queue_requests: Some(256),
        driver_requests: Some(32),
        size_bytes: Some(1 << 20),
        model: Some("QEMU HARDDISK".into()),
        raid_level: None,
        nvme_namespace: None,
        mapper_name: None,
        mapper_kind: None,
    };
    assert_eq!(*find("vda"), vda);
    assert_eq!(find("vdb").model, Some("SD32G".into()));
    assert_eq!(find("vdb").nvme_namespace, Some(3));
    assert_eq!(find("md0").raid_level, Some("raid1".into()));
    assert_eq!(find("loop0").below_dev, Some(VDA));
    assert_eq!(find("loop1").below_dev, Some(VDB));
    assert_eq!(find("loop2").below_dev, None);
    assert_eq!(find("loop3").below_dev, Some(VDB));
    assert_eq!(find("dm-0").below_dev, Some(VDA));
    assert_eq!(
        find("md0").below_dev,
        None,
        "two disks cannot be one number"
    );
    let dm = find("dm-0");
    assert_eq!(dm.mapper_name, Some("vg-a b".into()));
    assert_eq!(dm.mapper_kind, Some("LVM".into()));
    assert_eq!(find("md0").mapper_kind, None);
    assert_eq!(find("cciss/c0d0").dev, 104 << 20);
    assert_eq!(disks.len(), 9);
}

#[test]
fn an_array_lies_on_each_of_its_disks() {
    let machine = Machine::new();
    let below = |dev: i64| -> Vec<i64> {
        let found = devices::one(&machine.roots, &machine.mounts, dev).unwrap();
        let layers = found.unwrap().layers;
        assert!(layers.iter().all(|row| row.dev == dev));
        layers.iter().map(|row| row.below_dev).collect()
    };
    assert_eq!(below(9 << 20), [VDA, VDB]);
    assert_eq!(below(252 << 20), [VDA]);
    assert_eq!(below(7 << 20), [VDA]);
    assert_eq!(below(7 << 20 | 2), [] as [i64; 0]);
    assert_eq!(below(VDA), [] as [i64; 0]);
}

#[test]
fn stacks_are_seen_by_what_lies_below_and_multipath_by_its_queues() {
    let machine = Machine::new();
    let sys = &machine.roots.sys;
    let found = |any, of_requests| devices::Stacks { any, of_requests };
    assert_eq!(devices::Stacks::read(sys), found(true, 0));
    std::fs::create_dir_all(sys.join("block/dm-0/mq/0")).unwrap();
    assert_eq!(devices::Stacks::read(sys), found(true, 252));
    let none = tempfile::tempdir().unwrap();
    put(none.path(), "block/vda/dev", "254:0\n");
    std::fs::create_dir_all(none.path().join("block/vda/slaves")).unwrap();
    assert_eq!(devices::Stacks::read(none.path()), found(false, 0));
    // One of several paths: the head of the namespace has no queues of its own.
    put(none.path(), "block/nvme0n1/dev", "259:0\n");
    assert_eq!(devices::Stacks::read(none.path()), found(true, 0));
}

#[test]
fn filesystems_and_the_disks_they_are_on() {
    let machine = Machine::new();
    let all = filesystems::rows(
        &machine.roots,
        &machine.mounts,
        &Default::default(),
        &mut space_of,
    )
    .unwrap();
    let names: Vec<(i64, &str, &str, &str, Option<i64>)> = all
        .iter()
        .map(|row| {
            (
                row.dev,
                &*row.kind,
                &*row.mount,
                &*row.options,
                row.disk_dev,
            )
        })
        .collect();
    let expected = [
        (50, "btrfs", "/btrfs", "rw,ssd", Some(VDB)),
        (51, "tmpfs", "/shm", "rw,noexec,size=1k", None),
        (254 << 20 | 1, "ext4", "/", "rw,relatime,discard", Some(VDA)),
    ];
    assert_eq!(names, expected);
    // The machine's own: what is left is a part of the whole.
    assert!(all[2].block_bytes.is_some() && all[2].size_bytes > Some(0));
    assert!(all[2].free_bytes.is_some() && all[2].free_bytes < all[2].size_bytes);
}

/// Disks of which some hold the logs of others' filesystems.
fn put_logs(root: &Path) {
    put_disks(root);
    put_devices(root, &[("nvme0n1", "259:0"), ("nvme1n1", "259:100")]);
    put_partitions(
        root,
        &[
            ("nvme0n1", "nvme0n1p1", "259:1"),
            ("nvme1n1", "nvme1n1p99", "259:199"),
            ("nvme1n1", "nvme1n1p100", "259:200"),
            ("nvme1n1", "nvme1n1p101", "259:201"),
            ("cciss!c0d0", "cciss!c0d0p1", "104:1"),
        ],
    );
    put(
        root,
        "proc/self/mountinfo",
        "1 1 254:1 / /own rw - ext4 /dev/vda1 rw\n\
         2 1 254:16 / /elsewhere rw - ext4 /dev/vdb rw\n\
         3 1 9:0 / /mirror rw - ext4 /dev/md0 rw\n\
         4 1 7:0 / /none rw - ext4 /dev/loop0 rw\n\
         5 1 252:0 / /mapped rw - ext4 /dev/mapper/a rw\n\
         6 1 7:1 / /cut rw - ext4 /dev/loop1 rw\n\
         7 1 7:2 / /unclear rw - ext4 /dev/loop2 rw\n\
         8 1 7:3 / /xfs rw - xfs /dev/loop3 rw,logdev=/dev/nvme0n1p1,noquota\n\
         9 1 104:1 / /slash rw - ext4 /dev/cciss/c0d0p1 rw\n\
         10 1 259:1 / /inside rw - xfs /dev/nvme0n1p1 rw,noquota\n",
    );
    for (pid, of, comm) in [
        (11, "vda1", "jbd2/vda1-8"),      // in the filesystem itself
        (12, "vdb", "jbd2/vda1"),         // on another's disk
        (13, "md0", "jbd2/dm-0"),         // a name with a dash
        (15, "dm-0", "jbd2/dm-0-8"),      // the same, and an inode
        (16, "loop1", "jbd2/nvme1n1p9"),  // as long as it may be, and no device by this name
        (17, "loop2", "jbd2/nvme1n1p10"), // cut off: one of two
        (19, "cciss!c0d0p1", "jbd2/cciss!c0d0"),
    ] {
        put(
            root,
            &format!("sys/fs/ext4/{of}/journal_task"),
            &format!("{pid}\n"),
        );
        put(root, &format!("proc/{pid}/comm"), &format!("{comm}\n"));
    }
    put(root, "sys/fs/ext4/loop0/journal_task", "<none>\n");
}

#[test]
fn a_log_on_a_device_of_its_own() {
    let files = tempfile::tempdir().unwrap();
    let root = files.path();
    put_logs(root);
    let roots = Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
        ..Roots::default()
    };
    let mounts = Mounts::read(&roots).unwrap();
    let all = filesystems::rows(&roots, &mounts, &Default::default(), &mut space_of).unwrap();
    let logs: Vec<(&str, i64)> = all
        .iter()
        .filter_map(|row| Some((&*row.mount, row.log_dev?)))
        .collect();
    let mut expected = vec![
        ("/elsewhere", VDA),
        ("/mirror", 252 << 20),
        ("/slash", 104 << 20),
        ("/xfs", 259 << 20),
    ];
    expected.sort_by_key(|(mount, _)| all.iter().position(|row| row.mount == *mount));
    assert_eq!(logs, expected);
}

/// A file of its own on the filesystem of the build, which may be any; what holds on all is asserted.
#[test]
fn extents_of_a_file_with_a_hole() {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = temporary.path().join("holes");
    let mut file = File::create(&path).unwrap();
    file.write_all(&[7; 65_536]).unwrap();
    file.write_all_at(&[7; 65_536], 1 << 20).unwrap();
    file.sync_all().unwrap();
    let metadata = file.metadata().unwrap();
    let mounts = Mounts::read(&Roots::default()).unwrap();
    let layout = Layout::new(&mounts, Bounds::default());
    let mut extents = Vec::new();
    let taken = match layout.of_path(&path, &mut |extent| extents.push(extent)) {
        Ok(taken) => taken,
        Err(error) => {
            let text = format!("{error:#}");
            assert!(text.contains("no map of its extents (FIEMAP)"), "{text}");
            println!("not tested here: {text}");
            return;
        }
    };
    let rows = extents
        .iter()
        .map(|extent| row(Phase::After, &taken, extent));
    let rows: Vec<rows::Extents> = rows.collect();
    assert_eq!(taken.ino, metadata.ino() as i64);
    assert_eq!((taken.extents, taken.cut), (rows.len(), false));
    // XFS may hold more for what it expects to be written next; that is unwritten.
    let written = |row: &&rows::Extents| !row.flags.iter().any(|flag| flag == "unwritten");
    let mapped: i64 = rows.iter().filter(written).map(|row| row.bytes).sum();
    assert_eq!(mapped, 131_072);
    for row in rows.iter().filter(written) {
        assert_eq!((row.phase.as_ref(), row.ino), ("after", taken.ino));
        assert!(row.logical_bytes + row.bytes <= 65_536 || row.logical_bytes >= 1 << 20);
    }
    assert!(rows.last().unwrap().flags.iter().any(|flag| flag == "last"));
    // Nothing of the file has changed by looking.
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(
        (after.atime_nsec(), after.ctime_nsec()),
        (metadata.atime_nsec(), metadata.ctime_nsec())
    );

    let bounds = Bounds {
        extents_per_file: 1,
        ..Bounds::default()
    };
    let mut count = 0;
    let cut = Layout::new(&mounts, bounds).of_path(&path, &mut |_| count += 1);
    assert_eq!((cut.unwrap().cut, count), (true, 1));
    let bounds = Bounds {
        total_time: Duration::ZERO,
        ..Bounds::default()
    };
    let late = Layout::new(&mounts, bounds).of_path(&path, &mut |_| ());
    assert!(format!("{:#}", late.unwrap_err()).contains("no time left"));
}

#[test]
fn only_regular_files_are_opened() {
    let temporary = tempfile::tempdir().unwrap();
    let mounts = Mounts::read(&Roots::default()).unwrap();
    let layout = Layout::new(&mounts, Bounds::default());
    let link = temporary.path().join("link");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    let pipe = temporary.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [
        link.as_path(),
        &pipe,
        temporary.path(),
        Path::new("/dev/null"),
    ] {
        let error = layout
            .of_path(path, &mut |_| panic!("an extent"))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}: not a regular file", path.display())
        );
    }
    assert!(layout.of_path(Path::new("/nowhere"), &mut |_| ()).is_err());
}
