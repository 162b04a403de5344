//! TCP connections that a process has, by the address and port of the peer (proc(5), /proc/PID/net/tcp; Documentation/networking/proc_net_tcp).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::aside::Aside;
use crate::Roots;

/// Descriptors that are looked at, and bytes of the kernel's list of connections: a server with more has clients, not peers.
const DESCRIPTORS: usize = 4096;
const LISTED_BYTES: u64 = 4 << 20;
const READ_BYTES: usize = 64 << 10;
/// Processes that are asked about.
const PROCESSES: usize = 256;

const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";

/// The peers that processes asked: not the clients of a port that they listen at. Nothing of one that cannot be read, or not now.
pub fn of(roots: &Roots, pids: &[i64]) -> Vec<(i64, SocketAddr)> {
    let asked = pids.iter().take(PROCESSES);
    let asked = asked.map(|&pid| (pid, (pid, roots.proc.join(pid.to_string()))));
    let open: Vec<Open> = Aside::new(open).ask(asked).into_iter().flatten().collect();
    // The kernel takes milliseconds for a list, which is the same for all processes of a network namespace.
    let one_of_each: HashMap<&Path, &Open> = open
        .iter()
        .map(|one| (one.namespace.as_path(), one))
        .collect();
    let asked = one_of_each
        .into_values()
        .map(|one| (one.pid, (one.namespace.clone(), one.process.clone())));
    let lists: HashMap<PathBuf, Vec<Row>> =
        Aside::new(connections).ask(asked).into_iter().collect();
    open.iter()
        .filter_map(|one| Some((one, lists.get(&one.namespace)?)))
        .flat_map(|(one, rows)| peers(one, rows))
        .collect()
}

/// A process with sockets: their inodes, and its network namespace.
struct Open {
    pid: i64,
    process: PathBuf,
    namespace: PathBuf,
    sockets: HashSet<u64>,
}

fn open((pid, process): (i64, PathBuf)) -> Option<Open> {
    let sockets = sockets(&process.join("fd"));
    let namespace = fs::read_link(process.join("ns/net")).unwrap_or_else(|_| process.clone());
    (!sockets.is_empty()).then_some(Open {
        pid,
        process,
        namespace,
        sockets,
    })
}

fn connections((namespace, process): (PathBuf, PathBuf)) -> (PathBuf, Vec<Row>) {
    let lists = ["tcp", "tcp6"].map(|name| rows(&listed(&process.join("net").join(name))));
    (namespace, lists.into_iter().flatten().collect())
}

fn peers<'a>(one: &'a Open, rows: &'a [Row]) -> impl Iterator<Item = (i64, SocketAddr)> + 'a {
    let served: HashSet<u16> = rows
        .iter()
        .filter(|row| row.state == LISTENS)
        .map(|row| row.local.port())
        .collect();
    rows.iter()
        .filter(|row| row.state == ESTABLISHED && one.sockets.contains(&row.inode))
        .filter(move |row| !served.contains(&row.local.port()))
        .map(|row| (one.pid, row.peer))
}

/// Inodes of the sockets that a process has open.
fn sockets(descriptors: &Path) -> HashSet<u64> {
    let Ok(found) = fs::read_dir(descriptors) else {
        return HashSet::new();
    };
    found
        .flatten()
        .take(DESCRIPTORS)
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter_map(|link| {
            let inode = link.to_str()?.strip_prefix("socket:[")?;
            inode.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

fn listed(path: &Path) -> String {
    // Each read walks all of the kernel's table.
    let mut text = Vec::with_capacity(READ_BYTES);
    if let Ok(file) = fs::File::open(path) {
        // What has been read until an error is a list as well.
        let _ = file.take(LISTED_BYTES).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

struct Row {
    local: SocketAddr,
    peer: SocketAddr,
    state: String,
    inode: u64,
}

fn rows(text: &str) -> Vec<Row> {
    text.lines().skip(1).filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(Row {
        local: address(words.get(1)?)?,
        peer: address(words.get(2)?)?,
        state: (*words.get(3)?).to_owned(),
        inode: words.get(9)?.parse().ok()?,
    })
}

/// Words of 32 bits as the machine holds them, in hexadecimal digits.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for word in host.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => {
            let all = <[u8; 16]>::try_from(bytes.as_slice()).ok()?;
            IpAddr::V6(Ipv6Addr::from(all)).to_canonical()
        }
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_process_has_the_peers_that_it_asked() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let _asked = TcpStream::connect(at).unwrap();
        let _client = server.accept().unwrap();
        let pid = i64::from(std::process::id());
        let found = of(&Roots::default(), &[pid]);
        // The other end is this process's own as well, but a client's.
        assert_eq!(found.iter().filter(|one| **one == (pid, at)).count(), 1);
        assert!(found.iter().all(|(_, peer)| peer.port() == at.port()));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_are_words_of_the_machine() {
        for (text, expected) in [
            ("0100007F:1F90", Some("127.0.0.1:8080")),
            (
                "B80D01200000000000000000010000A0:01BB",
                Some("[2001:db8::a000:1]:443"),
            ),
            ("0000000000000000FFFF00000100000A:0050", Some("10.0.0.1:80")),
            ("0100007F", None),
            ("x100007F:1F90", None),
            ("0100007F00:1F90", None),
        ] {
            let found = address(text).map(|at| at.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
