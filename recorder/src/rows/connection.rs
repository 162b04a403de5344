//! Rows of connections that are asked for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use iowhy_store::rows;

use crate::event::layout::Connection;

/// The row of one connection; an IPv4 address is written as such, in IPv6's form, too.
pub fn row(e: &Connection) -> rows::Connections {
    let address = match e.is_v6 {
        0 => IpAddr::V4(Ipv4Addr::new(
            e.address[0],
            e.address[1],
            e.address[2],
            e.address[3],
        )),
        _ => IpAddr::V6(Ipv6Addr::from(e.address)).to_canonical(),
    };
    rows::Connections {
        ts_ns: e.ts as i64,
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        address: address.to_string().into(),
        port: e.port.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_people_do() {
        let mut mapped = [0; 16];
        mapped[10..].copy_from_slice(&[255, 255, 10, 0, 0, 1]);
        let mut plain = [0; 16];
        plain[..4].copy_from_slice(&[10, 0, 0, 1]);
        let mut local = [0; 16];
        local[15] = 1;
        for (address, is_v6, written) in [
            (plain, 0, "10.0.0.1"),
            (mapped, 1, "10.0.0.1"),
            (local, 1, "::1"),
        ] {
            let e = Connection {
                address,
                is_v6,
                port: 443,
                ..Connection::default()
            };
            assert_eq!((row(&e).address.as_ref(), row(&e).port), (written, 443));
        }
    }
}
