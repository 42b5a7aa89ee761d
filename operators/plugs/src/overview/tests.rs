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
    let plugs = [
        plug("web", "db", json!([condition("Coupled", "True", "CouplingSucceeded", "coupling succeeded")])),
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
    assert_eq!(overview.sockets[0].state, Health::Ready, "a socket that nobody uses is as it should be");
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
