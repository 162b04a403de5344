//! For how long more was asked of Amazon's volumes than was bought, as they count it: log page 0xD0 of their NVMe
//! (docs.aws.amazon.com/ebs/latest/userguide/nvme-detailed-performance-stats.html).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use iowhy_store::rows::VolumeLimits as Row;

use crate::aside::Aside;
use crate::devices::Disks;
use crate::error::{Error, Result};
use crate::Roots;

/// What these volumes call themselves (device/model).
const MODEL: &str = "Amazon Elastic Block Store";
/// The page, its length, and what it begins with; that of a disk of the host begins with something else.
const LOG_PAGE: u32 = 0xD0;
const PAGE_BYTES: usize = 4096;
const MAGIC: u32 = 0x3C23_B510;
/// Get Log Page (NVM Express base specification, admin commands).
const GET_LOG_PAGE: u8 = 0x02;
/// Where the page has the four sums, of 64 bits each, in µs.
const VOLUME_REQUESTS: usize = 56;
const VOLUME_BYTES: usize = 64;
const MACHINE_REQUESTS: usize = 72;
const MACHINE_BYTES: usize = 80;
/// Readings are so far apart.
const EVERY_NS: i64 = 1_000_000_000;

/// The volumes, asked in a thread: one that hangs keeps nobody waiting.
#[derive(Debug)]
pub(crate) struct VolumeLimits {
    volumes: Vec<(i64, PathBuf)>,
    aside: Aside<Asked, Option<Row>>,
    due_ns: i64,
    /// One has told something.
    told: bool,
}

/// The disk, its file, and when it is asked.
type Asked = (i64, PathBuf, i64);

impl VolumeLimits {
    pub fn new(roots: &Roots) -> Result<VolumeLimits> {
        Ok(VolumeLimits {
            volumes: volumes(roots)?,
            aside: Aside::new(ask),
            due_ns: i64::MIN,
            told: false,
        })
    }

    pub fn sample(&mut self, now_ns: i64, out: impl FnMut(Row)) -> Result<()> {
        if self.volumes.is_empty() || now_ns < self.due_ns {
            return Ok(());
        }
        self.due_ns = now_ns + EVERY_NS;
        let first = self.volumes[0].1.clone();
        let asked = self.volumes.iter();
        let asked = asked.map(|(dev, file)| (*dev, (*dev, file.clone(), now_ns)));
        let rows: Vec<Row> = self.aside.ask(asked).into_iter().flatten().collect();
        // One that does not have the page, or may not be asked for it, is not asked again.
        let told: HashSet<i64> = rows.iter().map(|row| row.dev).collect();
        let aside = &self.aside;
        self.volumes
            .retain(|(dev, _)| told.contains(dev) || aside.is_held(*dev));
        self.told |= !rows.is_empty();
        rows.into_iter().for_each(out);
        if self.volumes.is_empty() && !self.told {
            let error = io::Error::other("it gives no log page of its limits");
            return Err(Error::Read { path: first, error });
        }
        Ok(())
    }
}

fn volumes(roots: &Roots) -> Result<Vec<(i64, PathBuf)>> {
    let disks = Disks::read(&roots.sys)?;
    let found = disks.disks().filter(|disk| {
        let model = roots
            .sys
            .join("block")
            .join(&disk.name)
            .join("device/model");
        fs::read_to_string(model).is_ok_and(|text| text.trim().starts_with(MODEL))
    });
    Ok(found
        .map(|disk| (disk.dev, roots.dev.join(&disk.name)))
        .collect())
}

fn ask((dev, file, ts_ns): Asked) -> Option<Row> {
    parse(&log_page(&file)?, ts_ns, dev)
}

/// The sums of a page; None if it is another one.
pub(crate) fn parse(page: &[u8], ts_ns: i64, dev: i64) -> Option<Row> {
    let magic: [u8; 4] = page.get(..4)?.try_into().ok()?;
    if u32::from_le_bytes(magic) != MAGIC {
        return None;
    }
    let ns = |at: usize| {
        let bytes: [u8; 8] = page.get(at..at + 8)?.try_into().ok()?;
        let us = i64::try_from(u64::from_le_bytes(bytes)).unwrap_or(i64::MAX);
        Some(us.saturating_mul(1000))
    };
    Some(Row {
        ts_ns,
        dev,
        volume_requests_ns: ns(VOLUME_REQUESTS)?,
        volume_bytes_ns: ns(VOLUME_BYTES)?,
        machine_requests_ns: ns(MACHINE_REQUESTS)?,
        machine_bytes_ns: ns(MACHINE_BYTES)?,
    })
}

/// struct nvme_passthru_cmd of include/uapi/linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11_to_15: [u32; 5],
    /// 0: the driver's own, as a command that is late makes it reset the disk.
    timeout_ms: u32,
    result: u32,
}

nix::ioctl_readwrite!(nvme_admin_cmd, b'N', 0x41, Command);

/// The page as the disk gives it; None if it does not.
fn log_page(file: &Path) -> Option<Vec<u8>> {
    let disk = File::open(file).ok()?;
    let mut page = vec![0u8; PAGE_BYTES];
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        nsid: 1,
        addr: page.as_mut_ptr() as u64,
        data_len: PAGE_BYTES as u32,
        // Its number, and its length in words, less one.
        cdw10: LOG_PAGE | ((PAGE_BYTES as u32 / 4 - 1) << 16),
        ..Command::default()
    };
    // SAFETY: the command and the page that it names live until the call returns; it asks for no more than the page holds.
    let status = unsafe { nvme_admin_cmd(disk.as_raw_fd(), &mut command) };
    status.is_ok_and(|status| status == 0).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev;

    /// A page with each number in its place.
    fn page() -> Vec<u8> {
        let mut page = vec![0u8; PAGE_BYTES];
        page[..4].copy_from_slice(&MAGIC.to_le_bytes());
        // Requests and bytes and times of reads and writes, then the four, then requests in flight.
        for (place, number) in
            (1u64..).zip([11, 12, 13, 14, 15, 16, 1_500_000, 250, 3, 9_000_000, 7])
        {
            let at = 8 * place as usize;
            page[at..at + 8].copy_from_slice(&u64::to_le_bytes(number));
        }
        page
    }

    #[test]
    fn the_four_sums_of_a_page() {
        let row = parse(&page(), 5, dev(259, 1)).unwrap();
        let expected = Row {
            ts_ns: 5,
            dev: dev(259, 1),
            volume_requests_ns: 1_500_000_000,
            volume_bytes_ns: 250_000,
            machine_requests_ns: 3_000,
            machine_bytes_ns: 9_000_000_000,
        };
        assert_eq!(row, expected);
    }

    #[test]
    fn another_page_is_none() {
        let mut other = page();
        other[..4].copy_from_slice(&0xEC2C_0D7Eu32.to_le_bytes());
        assert_eq!(parse(&other, 5, 1), None);
        assert_eq!(parse(&page()[..87], 5, 1), None);
        assert_eq!(parse(&[], 5, 1), None);
        let mut most = page();
        most[VOLUME_BYTES..VOLUME_BYTES + 8].fill(0xff);
        assert_eq!(parse(&most, 5, 1).unwrap().volume_bytes_ns, i64::MAX);
    }

    #[test]
    fn the_command_is_as_the_kernel_has_it() {
        assert_eq!(std::mem::size_of::<Command>(), 72);
        assert_eq!(std::mem::offset_of!(Command, addr), 24);
        assert_eq!(std::mem::offset_of!(Command, cdw10), 40);
        assert_eq!(std::mem::offset_of!(Command, timeout_ms), 64);
        assert_eq!(nix::request_code_readwrite!(b'N', 0x41, 72), 0xC048_4E41);
    }

    #[test]
    fn only_amazons_volumes_are_asked() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path();
        for (name, number, model) in [
            (
                "nvme0n1",
                "259:0",
                "Amazon EC2 NVMe Instance Storage        ",
            ),
            (
                "nvme1n1",
                "259:1",
                "Amazon Elastic Block Store              ",
            ),
            ("vda", "254:0", ""),
        ] {
            let at = sys.join("block").join(name).join("device");
            fs::create_dir_all(&at).unwrap();
            fs::write(at.parent().unwrap().join("dev"), format!("{number}\n")).unwrap();
            fs::write(at.join("model"), format!("{model}\n")).unwrap();
        }
        let roots = Roots {
            sys: sys.into(),
            dev: sys.join("dev"),
            ..Roots::default()
        };
        assert_eq!(
            volumes(&roots).unwrap(),
            [(dev(259, 1), sys.join("dev/nvme1n1"))]
        );
        // A file that is no disk: asked once, and nothing is known.
        fs::create_dir(sys.join("dev")).unwrap();
        fs::write(sys.join("dev/nvme1n1"), "").unwrap();
        let mut sampler = VolumeLimits::new(&roots).unwrap();
        assert!(sampler.sample(0, |_| panic!("a row")).is_err());
        assert!(sampler.volumes.is_empty());
    }
}
