//! The control groups that are recorded.

use std::collections::BTreeSet;

use iowhy_readings::containers::{find, Hierarchy, Wanted};
use iowhy_readings::Roots;

/// Groups of one hierarchy, with all below them; none where processes or the machine are recorded.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    hierarchy: Option<Hierarchy>,
    paths: Vec<String>,
}

impl Groups {
    /// The groups that are meant; an error is for the user.
    pub fn find(wanted: &[Wanted]) -> Result<Groups, String> {
        let mut groups = Groups::default();
        for one in wanted {
            let (hierarchy, paths) = find(&Roots::default(), one)?;
            if groups.hierarchy.as_ref().is_some_and(|h| *h != hierarchy) {
                return Err("the control groups are on different hierarchies".into());
            }
            groups.hierarchy = Some(hierarchy);
            groups.paths.extend(paths);
        }
        Ok(groups)
    }

    pub fn hierarchy(&self) -> Option<&Hierarchy> {
        self.hierarchy.as_ref()
    }

    /// What the kernel knows them by.
    pub fn numbers(&self) -> Vec<u64> {
        let hierarchy = self.hierarchy.iter();
        hierarchy
            .flat_map(|h| self.paths.iter().filter_map(|path| h.number(path)))
            .collect()
    }

    /// The processes that are in them now, but for this one.
    pub fn processes(&self) -> BTreeSet<i64> {
        let own = i64::from(std::process::id());
        let hierarchy = self.hierarchy.iter();
        let all = hierarchy.flat_map(|h| self.paths.iter().flat_map(|path| h.processes(path)));
        all.filter(|&pid| pid > 0 && pid != own).collect()
    }

    /// Whether one of them is still there.
    pub fn exist(&self) -> bool {
        !self.numbers().is_empty()
    }
}
