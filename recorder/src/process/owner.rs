//! Whose a recording shall be that root makes for the user who called it.

use iowhy_store::Owner;

/// Names them, as `UID:GID`.
pub const VARIABLE: &str = "IOWHY_OWNER";

/// As the environment says; only root can give files away.
pub fn named() -> Option<Owner> {
    let named = std::env::var(VARIABLE).ok()?;
    let (uid, gid) = named.split_once(':')?;
    let owner = Owner {
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
    };
    nix::unistd::geteuid().is_root().then_some(owner)
}
