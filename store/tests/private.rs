//! A recording is its maker's alone, and root follows no link that its user puts in the way.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{chown, symlink, MetadataExt, PermissionsExt};
use std::path::Path;

use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Error, Limits, Owner, Place, Recording};

const NOBODY: u32 = 65534;

fn nobody() -> Owner {
    Owner {
        uid: NOBODY,
        gid: NOBODY,
        groups: Vec::new(),
    }
}

fn every(path: &Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            found.extend(every(&entry.unwrap().path()));
        }
    }
    found
}

fn stack() -> rows::Stacks {
    rows::Stacks {
        stack_id: 1,
        frames: vec!["io_schedule".into()],
    }
}

#[test]
fn nobody_else_may_read_it_whatever_the_umask() {
    let temporary = tempfile::tempdir().unwrap();
    for (umask, name) in [(0, "open"), (0o777, "shut")] {
        let dir = temporary.path().join(name);
        // SAFETY: umask(2) takes no memory; no other test of this program minds it.
        let before = unsafe { libc::umask(umask) };
        let mut recording = Recording::create(&dir, Manifest::new(Source::Live)).unwrap();
        recording.push(stack()).unwrap();
        recording.finish().unwrap();
        // SAFETY: as above.
        unsafe { libc::umask(before) };
        let all = every(&dir);
        assert!(all.len() >= 4, "{all:?}");
        for path in all {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{path:?}");
        }
    }
}

fn root() -> bool {
    // SAFETY: geteuid(2) takes no memory.
    let root = unsafe { libc::geteuid() } == 0;
    assert!(
        root || std::env::var("CI").as_deref() != Ok("true"),
        "private.rs cannot run here: needs root"
    );
    root
}

#[test]
fn a_directory_that_is_swapped_for_a_link_leads_root_nowhere() {
    if !root() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let victim = temporary.path().join("victim");
    fs::create_dir_all(victim.join("stacks")).unwrap();
    fs::write(victim.join("manifest.json"), "precious").unwrap();
    let (dir, moved) = (temporary.path().join("r.iowhy"), temporary.path().join("m"));
    let manifest = Manifest::new(Source::Live);
    let mut recording =
        Recording::create_for(&dir, manifest, Some(nobody()), Limits::default()).unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().uid(), 0);
    fs::rename(&dir, &moved).unwrap();
    symlink(&victim, &dir).unwrap();
    recording.push(stack()).unwrap();
    recording.finish().unwrap();
    for path in every(&victim) {
        assert_eq!(fs::metadata(&path).unwrap().uid(), 0, "{path:?}");
    }
    let kept = fs::read_to_string(victim.join("manifest.json")).unwrap();
    assert_eq!(kept, "precious");
    assert_eq!(fs::read_dir(victim.join("stacks")).unwrap().count(), 0);
    assert!(Manifest::read(&moved).unwrap().complete);
    for path in every(&moved) {
        assert_eq!(fs::metadata(&path).unwrap().uid(), NOBODY, "{path:?}");
    }
}

#[test]
fn root_writes_only_where_the_owner_could() {
    if !root() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let made = |dir: &Path| {
        Recording::create_for(
            dir,
            Manifest::new(Source::Live),
            Some(nobody()),
            Limits::default(),
        )
        .map(|_| ())
        .unwrap_err()
    };
    match made(&temporary.path().join("r.iowhy")) {
        Error::Make { error, .. } => assert_eq!(error.kind(), ErrorKind::PermissionDenied),
        other => panic!("{other}"),
    }
    let roots = temporary.path().join("roots");
    fs::create_dir(&roots).unwrap();
    // The test beside this one changes the umask, which all threads share.
    fs::set_permissions(&roots, fs::Permissions::from_mode(0o755)).unwrap();
    let problem = |refused| match refused {
        Error::Place { problem, .. } => problem,
        other => panic!("{other}"),
    };
    assert!(matches!(problem(made(&roots)), Place::AnotherUsers));
    chown(temporary.path(), Some(NOBODY), None).unwrap();
    symlink(&roots, temporary.path().join("link.iowhy")).unwrap();
    let link = made(&temporary.path().join("link.iowhy"));
    assert!(matches!(problem(link), Place::NotOpened(_)));
    assert_eq!(fs::metadata(&roots).unwrap().uid(), 0);
}

#[test]
fn a_folder_of_a_table_that_is_a_link_leads_root_nowhere() {
    if !root() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let victim = temporary.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("000001.parquet"), "precious").unwrap();
    let dir = temporary.path().join("r.iowhy");
    let manifest = Manifest::new(Source::Live);
    let mut recording =
        Recording::create_for(&dir, manifest, Some(nobody()), Limits::default()).unwrap();
    // Nobody but root can put it there, unless they serve the filesystem.
    symlink(&victim, dir.join("stacks")).unwrap();
    recording.push(stack()).unwrap();
    assert!(recording.finish().is_err());
    let precious = victim.join("000001.parquet");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    for path in every(&victim) {
        assert_eq!(fs::metadata(&path).unwrap().uid(), 0, "{path:?}");
    }
}

#[test]
fn an_owner_acts_with_their_own_groups_alone() {
    if !root() {
        return;
    }
    let (team, roots) = (64_111, 0);
    let owner = Owner {
        groups: vec![team],
        ..nobody()
    };
    let temporary = tempfile::tempdir().unwrap();
    fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (group, may) in [(team, true), (roots, false)] {
        let shared = temporary.path().join(group.to_string());
        fs::create_dir(&shared).unwrap();
        chown(&shared, Some(0), Some(group)).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o770)).unwrap();
        let made = Recording::create_for(
            &shared.join("r.iowhy"),
            Manifest::new(Source::Live),
            Some(owner.clone()),
            Limits::default(),
        );
        assert_eq!(made.is_ok(), may, "{group}");
        // What was the thread's is so again: root reads what is another's.
        assert!(fs::read_dir(&shared).is_ok());
    }
}
