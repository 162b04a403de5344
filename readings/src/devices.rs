//! Block devices and what lies on what, from /sys/block (Documentation/ABI/stable/sysfs-block).

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use iowhy_store::{rows, Name};

use crate::mounts::{Mount, Mounts};
use crate::proc_file::number;
use crate::{dev, Roots};

/// A whole disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskName {
    pub dev: i64,
    pub name: String,
}

/// The disks of the machine and their partitions.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    disks: Vec<DiskName>,
    /// Disks and partitions, by number and by name.
    whole: HashMap<i64, i64>,
    by_name: HashMap<String, i64>,
}

impl Disks {
    /// `sys` is where sysfs is mounted.
    pub fn read(sys: &Path) -> Result<Disks> {
        let block = sys.join("block");
        let mut found = Disks::default();
        let entries = match std::fs::read_dir(&block) {
            Ok(entries) => entries,
            Err(error) => return Err(Error::Read { path: block, error }),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().replace('!', "/");
            let Some(disk) = device_number(&entry.path()) else {
                continue;
            };
            found.add(&name, disk, disk);
            found.disks.push(DiskName { dev: disk, name });
            for part in std::fs::read_dir(entry.path())
                .into_iter()
                .flatten()
                .flatten()
            {
                if part.path().join("partition").exists() {
                    if let Some(number) = device_number(&part.path()) {
                        let name = part.file_name().to_string_lossy().replace('!', "/");
                        found.add(&name, number, disk);
                    }
                }
            }
        }
        found.disks.sort_by_key(|disk| disk.dev);
        Ok(found)
    }

    fn add(&mut self, name: &str, number: i64, disk: i64) {
        self.whole.insert(number, disk);
        self.by_name.insert(name.to_owned(), number);
    }

    /// Whole disks by number.
    pub fn disks(&self) -> impl Iterator<Item = &DiskName> {
        self.disks.iter()
    }

    /// The whole disk of a disk or partition.
    pub fn whole(&self, dev: i64) -> Option<i64> {
        self.whole.get(&dev).copied()
    }

    /// The whole disk under a mounted filesystem: by its device number, or, where that is anonymous
    /// (btrfs), by the device file that it was mounted from.
    pub fn of_mount(&self, mount: &Mount) -> Option<i64> {
        self.whole(mount.dev).or_else(|| {
            let file = mount.device_file()?;
            self.of_device_file(file)
        })
    }

    /// The whole disk of a device file.
    pub fn of_device_file(&self, file: &Path) -> Option<i64> {
        self.whole(self.number_of_file(file)?)
    }

    /// The number of a device file's disk or partition; where the file is not seen from here, by its name.
    pub fn number_of_file(&self, file: &Path) -> Option<i64> {
        let by_file = std::fs::metadata(file)
            .ok()
            .map(|m| crate::dev_of_stat(m.rdev()));
        by_file
            .filter(|number| self.whole.contains_key(number))
            .or_else(|| self.number(file.strip_prefix("/dev").ok()?.to_str()?))
    }

    /// The number of a disk or partition by its name.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.by_name.get(name).copied()
    }

    /// The disks and partitions whose names begin so, by name and number.
    pub fn beginning<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, i64)> {
        let named = self.by_name.iter().map(|(name, number)| (&**name, *number));
        named.filter(move |(one, _)| one.starts_with(name))
    }
}

/// Devices that lie on others: device-mapper, md, NVMe with several paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// There are some.
    pub any: bool,
    /// The major number of those that take requests as real disks do (multipath of device-mapper), or 0.
    pub of_requests: u32,
}

impl Stacks {
    /// `sys` is where sysfs is mounted; where it cannot be read, nothing lies on anything.
    pub fn read(sys: &Path) -> Stacks {
        let mut found = Stacks::default();
        for entry in std::fs::read_dir(sys.join("block"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let at = entry.path();
            // What takes requests has queues of the hardware.
            let takes_requests = at.join("mq").is_dir();
            let name = entry.file_name();
            let is_nvme = name.to_string_lossy().starts_with("nvme");
            let slaves = std::fs::read_dir(at.join("slaves"));
            if slaves.is_ok_and(|mut under| under.next().is_some()) {
                found.any = true;
                if let Some(number) = device_number(&at).filter(|_| takes_requests) {
                    found.of_requests = (number >> 20) as u32;
                }
            } else if is_nvme && !takes_requests {
                found.any = true;
            }
        }
        found
    }
}

/// What is known of a whole disk.
#[derive(Clone, Debug)]
pub struct Device {
    pub row: rows::Devices,
    /// The disks that it lies on.
    pub layers: Vec<rows::DeviceLayers>,
}

/// Every whole disk.
pub fn all(roots: &Roots, mounts: &Mounts) -> Result<Vec<Device>> {
    let disks = Disks::read(&roots.sys)?;
    Ok(disks
        .disks()
        .map(|disk| device(roots, mounts, &disks, disk))
        .collect())
}

/// The whole disk of this number; None: there is none, or no more.
pub fn one(roots: &Roots, mounts: &Mounts, dev: i64) -> Result<Option<Device>> {
    let disks = Disks::read(&roots.sys)?;
    let found = disks.disks().find(|disk| disk.dev == dev);
    Ok(found.map(|disk| device(roots, mounts, &disks, disk)))
}

fn device(roots: &Roots, mounts: &Mounts, disks: &Disks, disk: &DiskName) -> Device {
    let mut under = below(&directory(roots, disk), mounts, disks);
    under.remove(&disk.dev);
    Device {
        row: row(roots, disk, &under),
        layers: under
            .into_iter()
            .map(|below_dev| rows::DeviceLayers {
                dev: disk.dev,
                below_dev,
            })
            .collect(),
    }
}

fn row(roots: &Roots, disk: &DiskName, under: &BTreeSet<i64>) -> rows::Devices {
    let at = directory(roots, disk);
    let text = |file: &str| {
        let text = std::fs::read(at.join(file)).ok()?;
        Some(crate::names::escaped(text.trim_ascii())).filter(|text| !text.is_empty())
    };
    let count = |file: &str| text(file).and_then(|text| number(text.as_bytes()));
    rows::Devices {
        dev: disk.dev,
        name: Name::Owned(disk.name.clone()),
        below_dev: only(under),
        rotational: count("queue/rotational").map(|n| n != 0),
        write_cache: text("queue/write_cache").map(Name::Owned),
        scheduler: text("queue/scheduler").map(|text| Name::Owned(active(&text))),
        max_request_bytes: count("queue/max_sectors_kb").map(|n| n.saturating_mul(1024)),
        queue_requests: count("queue/nr_requests"),
        driver_requests: count("device/queue_depth"),
        size_bytes: count("size").map(|n| n.saturating_mul(512)),
        model: text("device/model")
            .or_else(|| text("device/name"))
            .map(Name::Owned),
        raid_level: text("md/level").map(Name::Owned),
        nvme_namespace: count("nsid"),
        mapper_name: text("dm/name").map(Name::Owned),
        mapper_kind: text("dm/uuid")
            .and_then(|uuid| uuid.split('-').next().map(str::to_owned))
            .filter(|kind| !kind.is_empty())
            .map(Name::Owned),
    }
}

fn directory(roots: &Roots, disk: &DiskName) -> PathBuf {
    roots.sys.join("block").join(disk.name.replace('/', "!"))
}

/// The disks under a loop, dm or md device; none for a real one.
fn below(at: &Path, mounts: &Mounts, disks: &Disks) -> BTreeSet<i64> {
    if let Ok(mut file) = std::fs::read(at.join("loop/backing_file")) {
        file.truncate(file.trim_ascii_end().len());
        let file = PathBuf::from(std::ffi::OsString::from_vec(file));
        // A file of /dev is a device and lies on no filesystem: a loop over a disk.
        if let Some(device) = file.to_str().and_then(|f| f.strip_prefix("/dev/")) {
            if let Some(number) = disks.by_name.get(device) {
                return disks.whole(*number).into_iter().collect();
            }
        }
        let mount = mounts.of_path(&file);
        return mount.and_then(|m| disks.of_mount(m)).into_iter().collect();
    }
    let slaves = std::fs::read_dir(at.join("slaves"));
    let slaves = slaves.into_iter().flatten().flatten();
    let under = slaves.filter_map(|slave| {
        let name = slave.file_name().to_string_lossy().replace('!', "/");
        disks.whole(*disks.by_name.get(&name)?)
    });
    under.collect()
}

/// None where there are several, which one number cannot name.
fn only(under: &BTreeSet<i64>) -> Option<i64> {
    under.first().copied().filter(|_| under.len() == 1)
}

/// The scheduler in brackets (`none [mq-deadline] kyber`), or the only one.
fn active(schedulers: &str) -> String {
    let bracketed = schedulers
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(schedulers, |(name, _)| name).to_owned()
}

/// The number in the `dev` file of a device's directory ("254:0").
fn device_number(directory: &Path) -> Option<i64> {
    let text = std::fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(dev(major.parse().ok()?, minor.parse().ok()?))
}
