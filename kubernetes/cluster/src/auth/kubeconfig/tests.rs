#![allow(clippy::unwrap_used)]
use std::os::unix::fs::PermissionsExt;

use super::*;

fn contexts() -> Vec<KubeconfigContext> {
    ["shop", "stage"]
        .map(|name| KubeconfigContext { name: name.into(), server: format!("https://127.0.0.1:1/clusters/{name}") })
        .into()
}

fn certificates() -> Certificates {
    Certificates::ephemeral(&[], "2026-11-15T00:00:00Z".parse().unwrap()).unwrap()
}

#[test]
fn the_file_is_private_and_names_every_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/kubeconfig");
    write(&path, "admin", &certificates(), &contexts()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("current-context: \"shop\""));
    assert!(text.contains("server: \"https://127.0.0.1:1/clusters/stage\""));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // A generated file is replaced, even after kubectl edited it.
    write(&path, "admin", &certificates(), &contexts()).unwrap();
}

#[test]
fn a_foreign_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    std::fs::write(&path, "apiVersion: v1\nusers:\n- name: alice\n").unwrap();
    let error = write(&path, "admin", &certificates(), &contexts()).unwrap_err();
    assert!(error.to_string().contains("is not a generated kubeconfig of the user admin"));
    assert!(std::fs::read_to_string(&path).unwrap().contains("alice"));
}

#[test]
fn a_file_of_another_user_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    write(&path, "admin", &certificates(), &contexts()).unwrap();
    assert!(matches!(write(&path, "other", &certificates(), &contexts()), Err(KubeconfigError::Foreign { .. })));
}

#[test]
fn the_mode_of_a_readable_leftover_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    write(&path, "admin", &certificates(), &contexts()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn merged_entries_are_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    write(&path, "admin", &certificates(), &contexts()).unwrap();
    let ours = std::fs::read_to_string(&path).unwrap();
    let merged = [
        ours.replace("users:\n", "users:\n- name: alice\n  user:\n    token: precious\n"),
        ours.replace("clusters:\n", "clusters:\n- cluster:\n    server: https://elsewhere\n  name: other\n"),
    ];
    for text in merged {
        std::fs::write(&path, &text).unwrap();
        let error = write(&path, "admin", &certificates(), &contexts()).unwrap_err();
        assert!(matches!(error, KubeconfigError::Foreign { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
