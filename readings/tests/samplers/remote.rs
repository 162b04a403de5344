//! Operations of NFS mounts.

use iowhy_readings::Reading;
use iowhy_store::rows::RemoteSamples;

use crate::tree::{sample, Tree};

/// As Linux 6.12 printed it, shortened: a mount of version 4.1, twice, and what else is mounted.
fn mountstats(reads: i64) -> String {
    let nfs = format!(
        "device 10.0.0.7:/ mounted on /far\\040away with fstype nfs4 statvers=1.1\n\
         \topts:\trw,vers=4.1,sec=sys\n\tbytes:\t0 2097152 794624 0 794624 2097152 0 32 \n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 0 0 2 0 0 140 140 0 251 0 16 134 92\n\
         \tper-op statistics\n\
         \t        NULL: 1 1 0 44 24 20 20 42 0\n\
         \t        READ: {reads} 98 1 17072 806264 51 1912 2049 2\n\n"
    );
    format!("device proc mounted on /proc with fstype proc\n{nfs}device /dev/vda mounted on / with fstype ext4\n{nfs}")
}

fn tree(text: &str) -> Tree {
    let tree = Tree::new();
    tree.put("proc/self/mountstats", text).put(
        "proc/self/mountinfo",
        "20 1 254:0 / / rw - ext4 /dev/vda rw\n\
         30 20 0:27 / /far\\040away rw - nfs4 10.0.0.7:/ rw,vers=4.1\n",
    );
    tree
}

fn remote(all: Vec<Reading>) -> Vec<RemoteSamples> {
    let rows = all.into_iter().filter_map(|reading| match reading {
        Reading::Remote(row) => Some(row),
        _ => None,
    });
    rows.collect()
}

fn reads(ts_ns: i64, operations: i64) -> RemoteSamples {
    RemoteSamples {
        ts_ns,
        dev: 27,
        op: "READ".into(),
        operations,
        transmissions: 98,
        timeouts: 1,
        sent_bytes: 17072,
        received_bytes: 806_264,
        queue_ns: 51_000_000,
        rtt_ns: 1_912_000_000,
        execute_ns: 2_049_000_000,
        errors: Some(2),
    }
}

#[test]
fn each_kind_of_operation_once_and_then_where_it_moves() {
    let tree = tree(&mountstats(97));
    let mut samplers = tree.samplers();
    let first = remote(sample(&mut samplers, 1));
    assert_eq!(
        first.iter().map(|row| &*row.op).collect::<Vec<_>>(),
        ["NULL", "READ"]
    );
    assert_eq!(first[1], reads(1, 97));
    assert_eq!(remote(sample(&mut samplers, 2)), []);
    tree.put("proc/self/mountstats", mountstats(99));
    assert_eq!(remote(sample(&mut samplers, 3)), [reads(3, 99)]);
}

#[test]
fn what_is_mounted_meanwhile_began_at_nothing() {
    let tree = tree("device proc mounted on /proc with fstype proc\n");
    let mut samplers = tree.samplers();
    for round in 0..9 {
        assert_eq!(remote(sample(&mut samplers, round)), []);
    }
    tree.put("proc/self/mountstats", mountstats(97));
    let found: Vec<_> = (9..12)
        .flat_map(|round| remote(sample(&mut samplers, round)))
        .filter(|row| row.op == "READ")
        .map(|row| (row.ts_ns, row.operations))
        .collect();
    assert_eq!(found, [(10, 0), (10, 97)]);
}

#[test]
fn a_line_that_is_none_turns_it_off_and_says_where() {
    let tree = tree(&mountstats(97).replace("44 24", "44 x"));
    let mut samplers = tree.samplers();
    assert_eq!(remote(sample(&mut samplers, 1)), []);
    let sensor = samplers
        .sensors()
        .into_iter()
        .find(|sensor| sensor.name == "remote_samples")
        .unwrap();
    let why = sensor.why.unwrap();
    assert!(
        why.contains("mountstats") && why.contains("bytes received"),
        "{why}"
    );
}
