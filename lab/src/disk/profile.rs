//! Kinds of disks with figures that are usual for them.

use clap::ValueEnum;

use super::bucket::{Capped, Limit};
use super::flash::{Chips, Flash};
use super::geometry::Geometry;
use super::model::Device;
use super::rotating::Rotating;

/// A kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// A 7200/min disk: seeks of 1 to 12 ms, 150 to 120 MB/s, 16 MiB of volatile write cache.
    Hdd,
    /// A SATA flash disk: 80 us, four channels, 500 MB/s, 1 ms to flush.
    Ssd,
    /// A cheap flash disk that flushes slowly: as `ssd`, but 20 ms.
    FlushSlow,
}

/// Figures that replace those of the profile.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Changes {
    /// Transfer rate; on a mechanical disk at byte 0, falling by a fifth to the end.
    #[arg(long, value_name = "MB/S")]
    pub megabytes_per_s: Option<f64>,
    /// Volatile write cache (hdd); 0 writes through.
    #[arg(long, value_name = "SIZE", value_parser = crate::size::bytes)]
    pub cache_bytes: Option<u64>,
    /// Cost of a flush beyond draining the cache.
    #[arg(long, value_name = "MS")]
    pub flush_ms: Option<f64>,
    /// Time of one access (ssd).
    #[arg(long, value_name = "US")]
    pub access_us: Option<f64>,
    /// An access takes up to this share more or less (ssd), as real chips do.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub access_spread: f64,
    /// Accesses at once (ssd).
    #[arg(long, value_name = "NUMBER")]
    pub channels: Option<usize>,
    /// A ceiling in front of the disk, of requests a second; the bucket begins full. May be given again: credits
    /// (100:5000) and what they may be spent at (3000).
    #[arg(long, value_name = "RATE[:BURST[:REFILL_MS]]")]
    pub cap_requests: Vec<Limit>,
    /// The same of bytes a second.
    #[arg(long, value_name = "RATE[:BURST[:REFILL_MS]]")]
    pub cap_bytes: Vec<Limit>,
}

fn ns(milliseconds: f64) -> u64 {
    (milliseconds.max(0.0) * 1e6) as u64
}

fn rate(megabytes_per_s: f64) -> u64 {
    ((megabytes_per_s * 1e6) as u64).max(1)
}

impl Profile {
    /// The mechanical figures; `None` for a profile without mechanics.
    pub fn geometry(self, size_bytes: u64) -> Option<Geometry> {
        match self {
            Self::Hdd => Some(Geometry {
                size_bytes,
                seek_min_ns: 1_000_000,
                seek_max_ns: 12_000_000,
                turn_ns: 8_400_000,
                slowest_bytes_per_s: 120_000_000,
                fastest_bytes_per_s: 150_000_000,
                cache_bytes: 16 << 20,
                readahead_bytes: 2 << 20,
                overhead_ns: 50_000,
                bus_bytes_per_s: 300_000_000,
                flush_ns: 0,
            }),
            Self::Ssd | Self::FlushSlow => None,
        }
    }

    fn chips(self) -> Chips {
        Chips {
            channels: 4,
            access_ns: 80_000,
            spread: 0.0,
            bytes_per_s: 500_000_000,
            flush_ns: if self == Self::FlushSlow {
                20_000_000
            } else {
                1_000_000
            },
        }
    }

    /// A disk of this kind with some figures changed, behind ceilings if there are any.
    pub fn device(self, size_bytes: u64, changes: &Changes) -> Box<dyn Device> {
        let disk = self.uncapped(size_bytes, changes);
        if changes.cap_requests.is_empty() && changes.cap_bytes.is_empty() {
            return disk;
        }
        Box::new(Capped::new(disk, &changes.cap_requests, &changes.cap_bytes))
    }

    fn uncapped(self, size_bytes: u64, changes: &Changes) -> Box<dyn Device> {
        match self.geometry(size_bytes) {
            Some(usual) => Box::new(Rotating::new(mechanical(usual, changes))),
            None => {
                let usual = self.chips();
                Box::new(Flash::new(Chips {
                    channels: changes.channels.unwrap_or(usual.channels),
                    access_ns: changes.access_us.map_or(usual.access_ns, |us| ns(us / 1e3)),
                    spread: changes.access_spread.clamp(0.0, 1.0),
                    bytes_per_s: changes.megabytes_per_s.map_or(usual.bytes_per_s, rate),
                    flush_ns: changes.flush_ms.map_or(usual.flush_ns, ns),
                }))
            }
        }
    }
}

fn mechanical(usual: Geometry, changes: &Changes) -> Geometry {
    let fastest = changes
        .megabytes_per_s
        .map_or(usual.fastest_bytes_per_s, rate);
    Geometry {
        fastest_bytes_per_s: fastest,
        slowest_bytes_per_s: (fastest / 5 * 4).max(1),
        cache_bytes: changes.cache_bytes.unwrap_or(usual.cache_bytes),
        flush_ns: changes.flush_ms.map_or(usual.flush_ns, ns),
        ..usual
    }
}
