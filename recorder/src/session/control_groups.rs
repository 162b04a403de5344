//! The control groups that are asked for, and the containers that are named.

use iowhy_readings::containers::Containers;
use iowhy_readings::Roots;

use super::{absent, Failure, Target};
use crate::groups::Groups;

/// The control groups that are asked for.
pub fn asked(target: &Target) -> Result<Groups, Failure> {
    match target {
        Target::Groups { wanted, .. } => Groups::find(wanted).map_err(absent),
        _ => Ok(Groups::default()),
    }
}

/// Those of the hierarchy that the groups are in, where any are recorded.
pub fn containers(groups: &Groups) -> Option<Containers> {
    let roots = Roots::default();
    match groups.hierarchy() {
        Some(on) => Some(Containers::on(&roots, on.clone())),
        None => Containers::new(&roots),
    }
}
