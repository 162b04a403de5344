//! Whose a recording shall be that root makes for the user who called it.

use iowhy_store::Owner;

/// Names them, as `UID:GID:GROUP,GROUP…` with the other groups that they are in.
pub const VARIABLE: &str = "IOWHY_OWNER";

/// As the environment says; only root can give files away.
pub fn named() -> Option<Owner> {
    let owner = parsed(&std::env::var(VARIABLE).ok()?)?;
    nix::unistd::geteuid().is_root().then_some(owner)
}

fn parsed(named: &str) -> Option<Owner> {
    let mut parts = named.splitn(3, ':');
    let mut number = || parts.next()?.parse().ok();
    let (uid, gid) = (number()?, number()?);
    let groups = parts.next().unwrap_or("").split(',');
    let groups = groups.filter(|group| !group.is_empty());
    Some(Owner {
        uid,
        gid,
        groups: groups
            .map(|group| group.parse().ok())
            .collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_named_with_their_groups() {
        let owner = |groups: &[u32]| Owner {
            uid: 1000,
            gid: 100,
            groups: groups.to_vec(),
        };
        assert_eq!(parsed("1000:100:100,4"), Some(owner(&[100, 4])));
        assert_eq!(parsed("1000:100:"), Some(owner(&[])));
        assert_eq!(parsed("1000:100"), Some(owner(&[])));
        for wrong in ["", "1000", "1000:", "1000:x:", "1000:100:4,x"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
