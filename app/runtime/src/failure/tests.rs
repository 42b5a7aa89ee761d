#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use super::*;

fn path() -> PathBuf {
    "data/store/lock".into()
}

#[test]
fn every_store_error_has_a_hint() {
    let denied = || io::Error::from(ErrorKind::PermissionDenied);
    let cases: [(OpenError, &str); 5] = [
        (OpenError::Locked { path: path() }, "stop the other process"),
        (OpenError::Damaged { path: path(), offset: 7, what: "x".into() }, "restore the data directory from a backup"),
        (OpenError::Missing { path: path() }, "restore the data directory from a backup"),
        (OpenError::Newer { path: path(), found: 9 }, "the version that wrote it"),
        (OpenError::Io { operation: "open", path: path(), source: denied() }, "check owner and mode"),
    ];
    for (error, hint) in cases {
        let printed = message(&error);
        assert!(printed.starts_with("error: ") && printed.contains("data/store/lock"), "{printed}");
        assert!(printed.lines().last().unwrap().starts_with("hint: ") && printed.contains(hint), "{printed}");
    }
}

#[test]
fn privileged_port_has_a_hint() {
    let bind = |address: &str, kind: ErrorKind| {
        message(&ListenError::Bind { address: address.parse().unwrap(), source: kind.into() })
    };
    assert!(bind("127.0.0.1:443", ErrorKind::PermissionDenied).contains("hint: ports below 1024"));
    assert!(bind("127.0.0.1:8443", ErrorKind::AddrInUse).contains("hint: another process uses this port"));
    assert!(bind("192.0.2.1:8443", ErrorKind::AddrNotAvailable).contains("hint: pass an address of this machine"));
}

#[test]
fn startup_errors_have_hints() {
    let socket = |kind: ErrorKind| message(&AskError::Socket("state/kernel.sock".into(), kind.into()));
    assert!(socket(ErrorKind::InvalidInput).contains("hint: pass a directory with a shorter path"));
    assert!(socket(ErrorKind::PermissionDenied).contains("hint: check owner and mode"));
    let port = message(&AskError::Port("127.0.0.1:1".parse().unwrap(), ErrorKind::AddrInUse.into()));
    assert!(port.contains("hint: change `listen` in the configuration"), "{port}");
    let busy = message(&JournalError::Busy("state/journal".into()));
    assert!(busy.contains("hint: stop the other process"), "{busy}");
    let format = message(&JournalError::Format { path: "state/journal/00000001.seg".into(), found: 1 });
    assert!(format.contains("hint: use the version that wrote it, delete the journal, or pass"), "{format}");
}

#[test]
fn a_kubeconfig_that_cannot_be_written_has_a_hint() {
    let error = KubeconfigError::Write { path: path(), source: ErrorKind::PermissionDenied.into() };
    let expected = "error: could not write kubeconfig data/store/lock\n  permission denied\n\
        hint: pass a writable file with --kubeconfig FILE";
    assert_eq!(message(&error), expected);
}

#[test]
fn hint_of_the_error_comes_last() {
    let error = KubeconfigError::Foreign { path: path(), user: "admin".to_string() };
    let printed = message(&error);
    assert_eq!(printed.matches("hint: ").count(), 1, "{printed}");
    assert_eq!(
        printed.lines().last().unwrap(),
        "hint: pass another file with --kubeconfig FILE, or move this file away"
    );
}

/// A boxed error downcasts only as its box.
#[test]
fn server_errors_have_hints_in_every_wrapping() {
    let status_error = |code: u16| {
        let status = serde_json::json!({"code": code, "message": "no", "reason": "Forbidden", "status": "Failure"});
        Box::new(kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
    };
    let refused = switchboard_gitops::instance::fleet::EngineError::Refused {
        act: "create",
        kind: "Secret".into(),
        name: "x".into(),
        source: status_error(403),
    };
    assert!(message(&refused).contains("hint: request the permission"), "{}", message(&refused));
    let unready = switchboard_gitops::setup::SetupError::Cluster { act: "look".into(), source: status_error(401) };
    assert!(message(&unready).contains("hint: check the credentials of the kubeconfig"), "{}", message(&unready));
}
