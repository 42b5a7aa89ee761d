#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

/// Two sockets and four plugs: coupled, waiting for a missing socket, failing and refused.
pub(crate) fn sample() -> PlugOverview {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message});
    let plug = |name: &str, socket: &str, conditions: Value| {
        json!({"metadata": {"namespace": "shop", "name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"socket": {"name": socket, "namespace": "data"}}, "status": {"conditions": conditions}})
    };
    let mut web = plug("web", "db", json!([condition("Coupled", "True", "CouplingSucceeded", "coupling succeeded")]));
    web["status"]["coupledSocket"] = json!({"namespace": "data", "name": "db"});
    let plugs = [
        web,
        plug(
            "cron",
            "queue",
            json!([condition("Coupled", "False", "SocketNotCreated", "waiting for socket to be created")]),
        ),
        plug(
            "api",
            "db",
            json!([
                condition("Coupled", "False", "Error", "coupling failed"),
                condition("Failed", "True", "Error", "plug config property 'x' is required"),
            ]),
        ),
        plug("late", "db", json!([condition("Coupled", "False", "NotAllowed", "the socket does not consent")])),
    ];
    let sockets = [
        json!({"metadata": {"namespace": "data", "name": "db", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"limit": 5, "interface": {"name": "postgres", "version": "v1"}},
            "status": {"conditions": [condition("Coupled", "True", "SocketCoupled", "1 plug coupled")]}}),
        json!({"metadata": {"namespace": "data", "name": "cache"},
            "status": {"conditions": [condition("Coupled", "False", "SocketEmpty", "0 plugs coupled")]}}),
    ];
    PlugOverview::of(&plugs, &sockets)
}

#[test]
fn conditions_become_the_five_states() {
    let overview = sample();
    let states: Vec<(&str, Health)> = overview.plugs.iter().map(|plug| (plug.name.as_str(), plug.state)).collect();
    assert_eq!(
        states,
        [
            ("shop/api", Health::Failing),
            ("shop/cron", Health::Waiting),
            ("shop/late", Health::Blocked),
            ("shop/web", Health::Ready)
        ]
    );
    assert_eq!(overview.plugs[0].message, "plug config property 'x' is required", "the cause, not `coupling failed`");
    assert_eq!(overview.sockets[0].state, Health::Ready, "a socket without plugs is ready");
}

#[test]
fn sockets_count_who_is_coupled_and_who_wants_to_be() {
    let overview = sample();
    let db = overview.sockets.iter().find(|socket| socket.name == "data/db").unwrap();
    assert_eq!((db.coupled, db.plugs, db.limit, db.interface.as_str()), (1, 3, Some(5), "postgres/v1"));
    let cron = overview.plugs.iter().find(|plug| plug.name == "shop/cron").unwrap();
    assert!(!cron.socket_exists);
}

#[test]
fn an_object_that_nobody_looked_at_is_working() {
    let overview = PlugOverview::of(&[json!({"metadata": {"name": "new"}})], &[]);
    assert_eq!(overview.plugs[0].state, Health::Working);
    assert_eq!(overview.plugs[0].name, "default/new");
    assert_eq!(overview.plugs[0].socket, "");
}

#[test]
fn a_program_that_does_not_answer_is_named() {
    let conditions = json!([{"type": "Coupled", "status": "False", "reason": "CouplingInProcess", "message": "coupling to socket"},
        {"type": "ApparatusReady", "status": "False", "reason": "NotReady", "message": "the pod is Failed: Error"}]);
    let overview = PlugOverview::of(&[json!({"metadata": {"name": "web"}, "status": {"conditions": conditions}})], &[]);
    let plug = &overview.plugs[0];
    assert_eq!((plug.state, plug.message.as_str()), (Health::Waiting, "apparatus: the pod is Failed: Error"));
}

/// Returns the overview of a plug whose result is missing, and of its socket.
pub(crate) fn with_missing_result() -> PlugOverview {
    let missing = "socket result property 'foo' is required";
    let conditions = json!([
        {"type": "Coupled", "status": "False", "reason": "CouplingInProcess", "message": "coupling to socket"},
        {"type": "Waiting", "status": "True", "reason": "ResultMissing", "message": missing}]);
    let plug = json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"socket": {"name": "db"}},
        "status": {"conditions": conditions, "coupledSocket": {"namespace": "shop", "name": "db"}}});
    let socket = json!({"metadata": {"namespace": "shop", "name": "db"}, "status": {"conditions": [
        {"type": "Coupled", "status": "True", "reason": "SocketCoupled", "message": "1 plug coupled"}]}});
    PlugOverview::of(&[plug], &[socket])
}

#[test]
fn state_and_counts_agree_with_the_conditions() {
    let overview = with_missing_result();
    let (plug, socket) = (&overview.plugs[0], &overview.sockets[0]);
    assert_eq!(plug.state, Health::Waiting);
    assert_eq!(plug.reason, "ResultMissing");
    assert_eq!(plug.message, "socket result property 'foo' is required");
    assert_eq!((socket.coupled, socket.plugs, socket.message.as_str()), (1, 1, "1 plug coupled"));
}

#[test]
fn a_plug_counts_for_the_socket_to_which_it_is_coupled() {
    let plug = json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"socket": {"name": "next"}},
        "status": {"coupledSocket": {"namespace": "shop", "name": "db"}}});
    let socket = |name: &str| json!({"metadata": {"namespace": "shop", "name": name}});
    let overview = PlugOverview::of(&[plug], &[socket("db"), socket("next")]);
    let counts: Vec<(usize, usize)> = overview.sockets.iter().map(|one| (one.coupled, one.plugs)).collect();
    assert_eq!(counts, [(1, 0), (0, 1)]);
}

/// The socket counts its plugs a moment later than they are coupled.
#[test]
fn a_ready_socket_shows_one_count() {
    let plug = json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"socket": {"name": "db"}},
        "status": {"coupledSocket": {"namespace": "shop", "name": "db"}}});
    let stale = |name: &str, status: &str, reason: &str, message: &str| {
        let coupled = json!([{"type": "Coupled", "status": status, "reason": reason, "message": message}]);
        json!({"metadata": {"namespace": "shop", "name": name}, "status": {"conditions": coupled}})
    };
    let sockets = [
        stale("cache", "True", "SocketCoupled", "1 plug coupled"),
        stale("db", "False", "SocketEmpty", "0 plugs coupled"),
        stale("late", "False", "Error", "coupling failed"),
    ];
    let overview = PlugOverview::of(&[plug], &sockets);
    let rows: Vec<(usize, &str)> = overview.sockets.iter().map(|one| (one.coupled, one.message.as_str())).collect();
    assert_eq!(rows, [(0, "0 plugs coupled"), (1, "1 plug coupled"), (0, "coupling failed")]);
}
