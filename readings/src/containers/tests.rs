// long: a file of each runtime, and what is read of it.
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::named::{container, unit, MadeBy};
use super::state::json;
use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn mounts(text: &str) -> Mounts {
    let temporary = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(temporary.path().join("self")).unwrap();
    std::fs::write(temporary.path().join("self/mountinfo"), text).unwrap();
    let roots = Roots {
        proc: temporary.path().into(),
        sys: "/sys".into(),
        ..Roots::default()
    };
    Mounts::read(&roots).unwrap()
}

/// Version 2, mounted at a directory of our own.
fn hierarchy(point: &Path) -> Hierarchy {
    let text = format!("30 1 0:27 / {} rw - cgroup2 cgroup2 rw\n", point.display());
    Hierarchy::of_machine(&mounts(&text)).unwrap()
}

fn on(point: &Path, files: &Path) -> Containers {
    let mut containers = Containers::here(&Roots::default(), hierarchy(point), files);
    containers.whole_view = true;
    containers
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn of(containers: &mut Containers, group: &str) -> Container {
    let found = containers.of_group(group, 0).unwrap().unwrap();
    Container::clone(&found)
}

#[test]
fn the_name_of_a_group_tells_the_container() {
    let other = ID.replace('0', "f");
    for (group, at, id, by) in [
        (format!("/docker/{ID}"), 1, ID, MadeBy::Docker),
        (
            format!("/system.slice/docker-{ID}.scope"),
            1,
            ID,
            MadeBy::Docker,
        ),
        (
            format!("/docker/{ID}/docker/{other}/x"),
            3,
            other.as_str(),
            MadeBy::Docker,
        ),
        (
            format!("/machine.slice/libpod-{ID}.scope/container"),
            1,
            ID,
            MadeBy::Podman,
        ),
        (
            format!("/kubepods/burstable/pod1-2/{ID}"),
            3,
            ID,
            MadeBy::Unknown,
        ),
        (
            format!("/kubepods.slice/x.slice/cri-containerd-{ID}.scope"),
            2,
            ID,
            MadeBy::Containerd,
        ),
        (
            format!("/kubepods.slice/x.slice/crio-{ID}.scope"),
            2,
            ID,
            MadeBy::CriO,
        ),
        (
            "/lxc.payload.web/system.slice/a.service".into(),
            0,
            "web",
            MadeBy::Lxc,
        ),
        ("/lxc/web".into(), 1, "web", MadeBy::Lxc),
    ] {
        let found = container(&group).unwrap();
        assert_eq!((found.at, found.id, found.made_by), (at, id, by), "{group}");
    }
}

#[test]
fn what_has_no_containers_name_is_none_and_may_be_a_unit() {
    for group in [
        "/".into(),
        "/user.slice/user-0.slice/session-1.scope".into(),
        format!("/machine.slice/libpod-conmon-{ID}.scope"),
        format!("/docker/{}", &ID[1..]),
    ] {
        assert_eq!(container(&group), None, "{group}");
    }
    for (group, id, of) in [
        ("/system.slice/nginx.service/worker", "nginx.service", 27),
        (
            "/user.slice/user-0.slice/session-1.scope",
            "session-1.scope",
            40,
        ),
        (
            "/user.slice/u.slice/user@1.service/app.slice/x.scope",
            "user@1.service",
            34,
        ),
    ] {
        let found = unit(group).unwrap();
        assert_eq!(
            (found.id.as_str(), found.group.as_str()),
            (id, &group[..of])
        );
    }
    assert_eq!(unit("/user.slice"), None);
}

#[test]
// long: a file of each runtime, and what is read of it.
fn each_runtime_is_read_from_its_own_files() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    let ids: Vec<String> = "123456".chars().map(|c| c.to_string().repeat(64)).collect();
    write(
        root,
        &format!("var/lib/docker/containers/{}/config.v2.json", ids[0]),
        r#"{"Name":"/k8s_app_p","Config":{"Image":"nginx:1","Labels":{"io.kubernetes.pod.name":"p",
            "io.kubernetes.container.name":"app"}}}"#,
    );
    write(
        root,
        &format!(
            "run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
            ids[1]
        ),
        r#"{"annotations":{"io.kubernetes.cri.container-name":"db","io.kubernetes.cri.image-name":"pg:16",
            "io.kubernetes.cri.sandbox-name":"db-0","io.kubernetes.cri.sandbox-namespace":"prod"}}"#,
    );
    write(
        root,
        &format!(
            "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
            ids[5]
        ),
        r#"{"annotations":{"io.kubernetes.cri.container-name":"web","io.kubernetes.cri.sandbox-name":"w-0"}}"#,
    );
    let podman = format!(
        r#"[{{"id":"{}","names":["job"],"metadata":"{{\"image-name\":\"box:1\",\"name\":\"job\"}}"}},
            {{"id":"{}","names":["k8s_c"],"metadata":"{{\"image-name\":\"i\",\"metadata-name\":\"c\",\"pod-name\":\"q\",\"namespace\":\"n\"}}"}}]"#,
        ids[2], ids[3]
    );
    write(
        root,
        "var/lib/containers/storage/vfs-containers/containers.json",
        &podman,
    );
    write(
        root,
        &format!(
            "var/lib/containers/storage/vfs-containers/{}/userdata/config.json",
            ids[2]
        ),
        r#"{"annotations":{"io.container.manager":"libpod",
            "io.kubernetes.cri-o.SandboxID":"888ace8f64df7c72de96d25734baa16fc1f7c8c27e6b2af3c287faef735baca7"}}"#,
    );
    let point = root.join("groups");
    let state = format!(
        r#"{{"cgroup_paths":{{"":"{}/mine"}},"config":{{"labels":["bundle=/b"]}}}}"#,
        point.display()
    );
    write(root, "run/runc/one/state.json", &state);
    write(root, "run/crun/two/status", r#"{"cgroup-path":"/yours"}"#);
    std::fs::create_dir_all(point.join("mine/below")).unwrap();

    let mut containers = on(&point, root);
    let text = |c: &Container| {
        let all = [&c.name, &c.image, &c.pod, &c.pod_namespace];
        all.map(|t| t.clone().unwrap_or_default()).join(" ")
    };
    for (group, runtime, told) in [
        (format!("/docker/{}", ids[0]), "docker", "app nginx:1 p "),
        (
            format!("/kubepods/pod1/{}", ids[1]),
            "containerd",
            "db pg:16 db-0 prod",
        ),
        (
            format!("/kubepods/pod2/cri-containerd-{}.scope", ids[5]),
            "containerd",
            "web  w-0 ",
        ),
        (
            format!("/m/libpod-{}.scope", ids[2]),
            "podman",
            "job box:1 888ace8f64df ",
        ),
        (format!("/m/crio-{}.scope", ids[3]), "cri-o", "c i q n"),
        (format!("/docker/{}", ids[4]), "docker", "   "),
        ("/mine/below".into(), "runc", "one   "),
        ("/yours".into(), "crun", "two   "),
    ] {
        let found = of(&mut containers, &group);
        assert_eq!(
            (found.runtime.as_ref(), text(&found).as_str()),
            (runtime, told),
            "{group}"
        );
    }
    assert_eq!(of(&mut containers, "/mine/below").group, "/mine");
    assert_eq!(containers.of_group("/user.slice", 0), Some(None));
    // One that sees a part of the tree alone does not know what it lies in.
    containers.whole_view = false;
    assert_eq!(containers.of_group("/user.slice", 0), None);
}

#[test]
fn a_runtime_may_write_its_files_after_the_group_is_made() {
    let tree = tempfile::tempdir().unwrap();
    let point = tree.path().join("groups");
    std::fs::create_dir_all(point.join("late")).unwrap();
    let mut containers = on(&point, tree.path());
    assert_eq!(containers.of_group("/late", 0), Some(None));
    let state = format!(r#"{{"cgroup_paths":{{"":"{}/late"}}}}"#, point.display());
    write(tree.path(), "run/runc/late/state.json", &state);
    assert_eq!(
        containers.of_group("/late", 1),
        Some(None),
        "not asked again at once"
    );
    assert_eq!(
        containers.of_group("/late", AGAIN_NS).flatten().unwrap().id,
        "late"
    );
}

#[test]
fn a_scope_may_be_a_containers_whose_runtime_says_so_later() {
    let tree = tempfile::tempdir().unwrap();
    let point = tree.path().join("groups");
    std::fs::create_dir_all(point.join("runc-a.scope")).unwrap();
    let mut containers = on(&point, tree.path());
    assert_eq!(of(&mut containers, "/runc-a.scope").runtime, "systemd");
    let state = format!(
        r#"{{"cgroup_paths":{{"":"{}/runc-a.scope"}}}}"#,
        point.display()
    );
    write(tree.path(), "run/runc/a/state.json", &state);
    let later = containers.of_group("/runc-a.scope", AGAIN_NS).flatten();
    assert_eq!(later.unwrap().id, "a");
}

#[test]
fn no_link_leads_out_of_a_runtimes_files_and_nothing_but_files_is_read() {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    write(root, "secret.json", r#"{"Name":"/secret"}"#);
    let containers = root.join("var/lib/docker/containers");
    std::fs::create_dir_all(containers.join(ID)).unwrap();
    symlink(
        root.join("secret.json"),
        containers.join(ID).join("config.v2.json"),
    )
    .unwrap();
    let mut seen = on(&root.join("groups"), root);
    assert_eq!(of(&mut seen, &format!("/docker/{ID}")).name, None);
    let pipe = containers.join("pipe.json");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(json::<serde_json::Value>(&containers, "pipe.json"), None);
    assert_eq!(
        json::<serde_json::Value>(&containers, "../containers/../../secret.json"),
        None
    );
}

fn made(id: &str, name: &str, pod: Option<&str>, group: &str) -> Arc<Container> {
    Arc::new(Container {
        id: id.into(),
        name: Some(name.into()),
        runtime: if id.ends_with(".service") {
            "systemd".into()
        } else {
            "docker".into()
        },
        pod: pod.map(str::to_owned),
        group: group.into(),
        ..Container::default()
    })
}

#[test]
fn a_container_is_meant_by_its_name_or_the_beginning_of_its_id() {
    let all = || {
        vec![
            made("aaaa1111", "web", Some("p"), "/kubepods/pod7/a"),
            made("aaaa2222", "db", Some("p"), "/kubepods/pod7/b"),
            made("bbbb0000", "aaaa1111", None, "/c"),
            made("cccc0000", "etcd", Some("etcd-node-1"), "/d"),
            made(
                "ssh.service",
                "ssh.service",
                None,
                "/system.slice/ssh.service",
            ),
        ]
    };
    let chosen = |wanted| find::groups_on(all(), &wanted, &["node-1".into()]);
    let container = |name: &str| chosen(Wanted::Container(name.into()));
    assert_eq!(container("web").unwrap(), ["/kubepods/pod7/a"]);
    assert_eq!(container("aaaa2").unwrap(), ["/kubepods/pod7/b"]);
    assert_eq!(container("ssh").unwrap(), ["/system.slice/ssh.service"]);
    assert_eq!(container("p/db").unwrap(), ["/kubepods/pod7/b"]);
    assert!(container("aaaa")
        .unwrap_err()
        .contains("p/db (aaaa2222), p/web (aaaa1111)"));
    assert!(container("aaaa1111").unwrap_err().contains("may be"));
    assert!(container("x")
        .unwrap_err()
        .contains("there are aaaa1111, etcd-node-1/etcd, p/db, p/web"));
    assert_eq!(chosen(Wanted::Pod("p".into())).unwrap(), ["/kubepods/pod7"]);
    // A static pod's name ends with its node's.
    assert_eq!(chosen(Wanted::Pod("etcd".into())).unwrap(), ["/d"]);
    assert!(chosen(Wanted::Pod("etc".into())).is_err());
    assert!(chosen(Wanted::Pod("q".into()))
        .unwrap_err()
        .contains("there are etcd-node-1, p"));
}

#[test]
fn a_pod_of_podman_is_its_own_containers_alone() {
    let pod = "888ace8f64df";
    let all = |parent: &str| {
        let group = |name: &str| format!("/{parent}/libpod-{name}");
        vec![
            made("aaaa", "a", Some(pod), &group("aaaa")),
            made("bbbb", "b", Some(pod), &group("bbbb")),
            made("cccc", "c", None, "/libpod_parent/libpod-cccc"),
        ]
    };
    let chosen = |parent| find::groups_on(all(parent), &Wanted::Pod(pod.into()), &[]).unwrap();
    assert_eq!(
        chosen("libpod_parent"),
        ["/libpod_parent/libpod-aaaa", "/libpod_parent/libpod-bbbb"]
    );
    let own = "libpod_parent/888ace8f64df7c72";
    assert_eq!(chosen(own), [format!("/{own}")]);
}

#[test]
fn a_static_pods_container_without_its_nodes_name() {
    let one = Container {
        id: "aaaa".into(),
        name: Some("etcd".into()),
        pod: Some("etcd-node7".into()),
        pod_namespace: Some("kube-system".into()),
        group: "/kubepods/pod1/aaaa".into(),
        ..Container::default()
    };
    let asked = |asked: &str, nodes: &[String]| {
        find::groups_on(
            vec![Arc::new(one.clone())],
            &Wanted::Container(asked.into()),
            nodes,
        )
    };
    let nodes = ["node7".to_owned()];
    for (name, found) in [
        ("kube-system/etcd/etcd", true),
        ("kube-system/etcd-node7/etcd", true),
        ("kube-system/etcd/other", false),
        ("other/etcd/etcd", false),
    ] {
        assert_eq!(asked(name, &nodes).is_ok(), found, "{name}");
    }
    assert!(asked("kube-system/etcd/etcd", &[]).is_err());
}

#[test]
fn a_group_is_found_by_its_number_on_this_machine() {
    let Some(containers) = Containers::new(&Roots::default()) else {
        return;
    };
    let on = containers.hierarchy();
    let top = on.top();
    // Only root may ask for a group by its number.
    if let (Some(number), true) = (on.number(&top), nix::unistd::geteuid().is_root()) {
        let found = on.group_of_number(number);
        assert!(found.is_none() || found == Some(top));
    }
}

proptest! {
    #[test]
    fn any_group_and_any_text(group: String, text: Vec<u8>) {
        let tree = tempfile::tempdir().unwrap();
        let mut containers = on(&tree.path().join("groups"), tree.path());
        containers.of_group(&group, 0);
        let _ = containers.hierarchy().group_in(&text);
        std::fs::write(tree.path().join("x.json"), &text).unwrap();
        let _ = json::<serde_json::Value>(tree.path(), "x.json");
    }
}
