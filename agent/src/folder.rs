//! Where recordings lie: each is made in `.open`, and is moved to `date=YYYY-MM-DD/host=NAME/` when it is whole, so that
//! who reads there never finds a part of one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Below the agent's folder: recordings that are being made.
pub const OPEN: &str = ".open";
const SUFFIX: &str = ".iowhy";
const DAY_S: i64 = 86_400;

/// A moment of the wall clock, UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// YYYY-MM-DD
    pub date: String,
    /// HHMMSS
    pub time: String,
}

impl Moment {
    /// Of seconds since 1970.
    pub fn of(unix_s: i64) -> Moment {
        let (days, second) = (unix_s.div_euclid(DAY_S), unix_s.rem_euclid(DAY_S));
        let (year, month, day) = civil(days);
        Moment {
            date: format!("{year:04}-{month:02}-{day:02}"),
            time: format!(
                "{:02}{:02}{:02}",
                second / 3600,
                second / 60 % 60,
                second % 60
            ),
        }
    }
}

/// Year, month and day of a day since 1970 in the Gregorian calendar (by eras of 400 years that begin in March).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// A recording under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it is made.
    pub open: PathBuf,
    /// Where it goes when it is whole; another number follows the name where that is taken (a clock that was set back).
    folder: PathBuf,
    name: String,
}

impl Place {
    /// For one that begins now, below the agent's folder.
    pub fn new(root: &Path, host: &str, began: &Moment, what: &str) -> Result<Place> {
        let open = root.join(OPEN);
        std::fs::create_dir_all(&open).with_context(|| open.display().to_string())?;
        let name = format!("{}-{what}", began.time);
        let folder = root
            .join(format!("date={}", began.date))
            .join(format!("host={}", plain(host)));
        // The date and the host are in the name while it is open, so that one that was left behind finds its place.
        let long = format!("{}_{}_{name}", began.date, plain(host));
        Ok(Place {
            open: free(&open, &long)?,
            folder,
            name,
        })
    }

    /// Moves a recording that is whole to where it belongs.
    pub fn close(&self) -> Result<PathBuf> {
        std::fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        let to = free(&self.folder, &self.name)?;
        std::fs::rename(&self.open, &to)
            .with_context(|| format!("cannot move {} to {}", self.open.display(), to.display()))?;
        Ok(to)
    }
}

/// A path for this name at which there is nothing yet.
fn free(folder: &Path, name: &str) -> Result<PathBuf> {
    let paths = (1..10_000).map(|number| match number {
        1 => folder.join(format!("{name}{SUFFIX}")),
        _ => folder.join(format!("{name}-{number}{SUFFIX}")),
    });
    let mut unused = paths.filter(|path| std::fs::symlink_metadata(path).is_err());
    unused.next().with_context(|| {
        format!(
            "{}: too many recordings of the name {name}",
            folder.display()
        )
    })
}

/// A host's name as part of a folder's.
fn plain(host: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let name: String = host
        .chars()
        .map(|c| if kept(c) { c } else { '-' })
        .collect();
    match name.trim_start_matches('.') {
        "" => "unknown".into(),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (second, date, time) in [
            (0, "1970-01-01", "000000"),
            (951_782_399, "2000-02-28", "235959"),
            (951_868_800, "2000-03-01", "000000"),
            (951_782_400, "2000-02-29", "000000"),
            (1_798_761_600, "2027-01-01", "000000"),
            (-1, "1969-12-31", "235959"),
        ] {
            let expected = Moment {
                date: date.into(),
                time: time.into(),
            };
            assert_eq!(Moment::of(second), expected);
        }
    }

    #[test]
    fn a_recording_is_seen_when_it_is_whole_and_takes_nobodys_place() {
        let root = tempfile::tempdir().unwrap();
        let began = Moment::of(0);
        let mut closed = Vec::new();
        for _ in 0..2 {
            let place = Place::new(root.path(), "a/b", &began, "agent").unwrap();
            std::fs::create_dir(&place.open).unwrap();
            closed.push(place.close().unwrap());
        }
        let folder = root.path().join("date=1970-01-01/host=a-b");
        assert_eq!(closed[0], folder.join("000000-agent.iowhy"));
        assert_eq!(closed[1], folder.join("000000-agent-2.iowhy"));
        assert_eq!(
            std::fs::read_dir(root.path().join(OPEN)).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_name_of_a_host_leads_nowhere_else() {
        assert_eq!(plain("../x"), "-x");
        assert_eq!(plain(""), "unknown");
        assert_eq!(plain("db-1.example"), "db-1.example");
    }
}
