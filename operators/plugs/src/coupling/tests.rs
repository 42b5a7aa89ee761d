#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::model::{CouplingEvent, PlugMeta};
use crate::render::{CouplingSide, PerSide, Values};

fn meta() -> PlugMeta {
    PlugMeta { name: "web".into(), namespace: "shop".into(), uid: "p1".into(), generation: 3, ..PlugMeta::default() }
}

fn record() -> CouplingRecord {
    let mut record = CouplingRecord::new(&meta(), "2026-01-01T00:00:00Z");
    record.socket = Some(ObjectIdentity { namespace: "data".into(), name: "db".into(), uid: "s1".into() });
    record.config.plug = Values::from([("password".into(), "hunter2".into())]);
    record.result = Some(PerSide {
        plug: Values::from([("a".into(), "1".into()), ("key".into(), "hunter2".into())]),
        socket: Values::new(),
    });
    record.redacted.plug = vec!["key".into()];
    record.coupled = true;
    record.begin(CouplingEvent::Updated, "2026-01-01T00:00:01Z", 7, "c".into());
    record
}

#[test]
fn a_record_reads_back_and_keeps_what_others_wrote_beside_it() {
    let fresh = to_secret(&record(), None, "home");
    assert_eq!(from_secret(&fresh).unwrap(), record());
    assert_eq!(fresh["metadata"]["labels"][SOCKET_LABEL], "s1");
    let mut marked = fresh.clone();
    marked["metadata"]["labels"][ADMITTED_LABEL] = "true".into();
    marked["metadata"]["labels"]["else"] = "kept".into();
    let mut admitted = from_secret(&marked).unwrap();
    assert_eq!(admitted.admitted, Some(true));
    assert_eq!(to_secret(&admitted, Some(&marked), "home"), marked, "nothing changed, nothing to write");
    admitted.release();
    let free = to_secret(&admitted, Some(&marked), "home");
    let labels: Vec<&String> = free["metadata"]["labels"].as_object().unwrap().keys().collect();
    assert_eq!(labels, ["else", PLUG_NAMESPACE_LABEL, PLUG_UID_LABEL]);
}

#[test]
fn answers_of_config_are_stored_under_their_key() {
    let mut with_answer = record();
    with_answer.config_answers.plug = Some(ConfigAnswer { key: "k".into(), values: Values::new() });
    let secret = to_secret(&with_answer, None, "home");
    assert!(secret["data"]["configAnswers"].is_string());
    assert_eq!(from_secret(&secret).unwrap(), with_answer);
}

#[test]
fn a_secret_that_is_no_record_is_told_apart() {
    let foreign = json!({"metadata": {"name": "coupling.web"}, "type": "Opaque"});
    assert_eq!(from_secret(&foreign), Err(StorageError::Foreign("coupling.web".into())));
    let mut broken = to_secret(&record(), None, "home");
    broken["data"]["record"] = "e30=".into();
    assert!(matches!(from_secret(&broken), Err(StorageError::Broken(..))));
}

#[test]
fn names_of_records_fit_and_are_of_one_plug() {
    assert_eq!(record_name("shop", "web"), "coupling.shop.web");
    assert_ne!(record_name("a", "b.c"), record_name("ab", "c"));
    let long = |end: &str| record_name("shop", &format!("{}{end}", "a".repeat(252)));
    assert!(long("a").len() <= 253 && long("a") != long("b"), "{}", long("a"));
}

#[test]
fn a_record_lies_where_no_user_writes_and_belongs_to_nobody_there() {
    let secret = to_secret(&record(), None, "home");
    assert_eq!((secret["metadata"]["namespace"].as_str(), record().plug.namespace.as_str()), (Some("home"), "shop"));
    assert!(secret["metadata"]["ownerReferences"].is_null(), "an owner elsewhere would have it collected");
}

#[test]
fn only_who_heard_of_a_coupling_hears_of_its_end() {
    let mut record = CouplingRecord::new(&meta(), "2026-01-01T00:00:00Z");
    record.begin(CouplingEvent::Coupled, "2026-01-01T00:00:01Z", 7, "c".into());
    assert_eq!(record.uninformed_sides().len(), 2, "it has only begun");
    record.pending.as_mut().unwrap().done.insert(call_step(CouplingSide::Plug));
    assert_eq!(record.uninformed_sides().into_iter().collect::<Vec<_>>(), [CouplingSide::Socket]);
    record.coupled = true;
    assert!(record.uninformed_sides().is_empty());
}

#[test]
fn a_status_has_the_words_that_scripts_know_and_no_secret() {
    let before =
        json!({"conditions": [{"type": "Coupled", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}]});
    let now = "2026-01-01T00:00:02Z";
    let status = plug_status(&PlugState::Coupled, &record(), &meta(), &StatusExtras::default(), &before, now);
    let wanted = json!({
        "conditions": [{"type": "Coupled", "status": "True", "reason": "CouplingSucceeded", "message": "coupling succeeded",
            "observedGeneration": 3, "lastTransitionTime": "2025-01-01T00:00:00Z"}],
        "coupledSocket": {"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Socket", "name": "db", "namespace": "data", "uid": "s1"},
        "coupledResult": {"plug": {"a": "1", "key": "<redacted>"}, "socket": {}, "observedGeneration": 3},
    });
    assert_eq!(status, wanted);
    let shown = |state: PlugState| -> Vec<String> {
        let status =
            plug_status(&state, &CouplingRecord::default(), &meta(), &StatusExtras::default(), &Value::Null, now);
        let word = |one: &Value| {
            ["type", "status", "reason", "message"].map(|field| one[field].as_str().unwrap().to_string()).join(" ")
        };
        status["conditions"].as_array().unwrap().iter().map(word).collect()
    };
    assert_eq!(shown(PlugState::NoSocket), ["Coupled False SocketNotCreated waiting for socket to be created"]);
    let missing = shown(PlugState::SocketMissing("spec.socket: which".into()));
    assert_eq!(missing[1], "Waiting True SocketMissing spec.socket: which");
    assert_eq!(shown(PlugState::Created), ["Coupled False PlugCreated plug created"]);
    assert_eq!(shown(PlugState::Coupling(None)), ["Coupled False CouplingInProcess coupling to socket"]);
    assert_eq!(shown(PlugState::Updating(None)), ["Coupled False UpdatingInProcess updating coupling"]);
    assert_eq!(
        shown(PlugState::Failing("why".into())),
        ["Coupled False Error coupling failed", "Failed True Error why"]
    );
    let conflict = shown(PlugState::Conflict("x".into()));
    assert_eq!(conflict[2], "Conflict True FieldConflict x");
}

#[test]
fn an_object_holds_what_is_wanted_whatever_the_server_adds() {
    let live = json!({"data": {"a": "1", "b": "2"}, "metadata": {"name": "x", "uid": "u"}, "list": [{"n": 1, "d": 2}]});
    for wanted in [
        json!({"data": {"a": "1"}}),
        json!({"list": [{"n": 1}]}),
        json!({"metadata": {"labels": {}}}),
        json!({"spec": null}),
    ] {
        assert!(contains(&live, &wanted), "{wanted}");
    }
    for wanted in [json!({"data": {"a": "2"}}), json!({"data": {"c": "1"}}), json!({"list": []})] {
        assert!(!contains(&live, &wanted), "{wanted}");
    }
    let secret = json!({"data": {"password": "aHVudGVyMg=="}});
    assert!(contains(&secret, &json!({"stringData": {"password": "hunter2"}})));
    assert!(!contains(&secret, &json!({"stringData": {"password": "changed"}})), "it is not as it was written");
    assert_eq!(fold_string_data(json!({"stringData": {"password": "hunter2"}})), secret);
}

#[test]
fn what_is_told_twice_is_one_event() {
    let about = record().plug;
    let tell = |event, what: &str, at: &str| {
        kubernetes_event(CouplingSide::Plug, &about, EventKind::Lifecycle(event), what, at)
    };
    let (one, again, other) = (
        tell(CouplingEvent::Coupled, "1", "t1"),
        tell(CouplingEvent::Coupled, "1", "t2"),
        tell(CouplingEvent::Coupled, "2", "t1"),
    );
    assert_eq!((&one.name, &one.namespace), (&again.name, &"shop".to_string()));
    assert_ne!(one.name, other.name);
    let switchboard_kernel::plan::WriteOp::Apply { body, .. } = one.operation else { panic!("an apply") };
    assert_eq!(
        (body["reason"].as_str(), body["message"].as_str()),
        (Some("PlugCoupled"), Some("plug web/shop coupled"))
    );
}
