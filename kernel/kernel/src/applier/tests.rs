#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::plan::{DeleteOptions, Mutation, PatchType};
use crate::resource::{Resource, TableKey};
use crate::topology::ClusterName;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

/// Server with one object that sometimes loses its responses.
#[derive(Default)]
struct FlakyWriter {
    object: Mutex<Option<Value>>,
    revision: Mutex<u64>,
    /// For each request in order: whether the response is lost, and whether the write is made before.
    script: Mutex<Vec<(bool, bool)>>,
    effects: Mutex<u32>,
    looks: Mutex<u32>,
}

impl FlakyWriter {
    fn holding(object: Option<Value>, script: &[(bool, bool)]) -> Self {
        let mut script = script.to_vec();
        script.reverse();
        Self { object: Mutex::new(object), revision: Mutex::new(10), script: Mutex::new(script), ..Self::default() }
    }

    fn carry(&self, request: &WriteRequest) -> WriteResponse {
        let mut object = self.object.lock().unwrap();
        let exactly = match &request.write.mutation.preconditions {
            Preconditions::Exact { revision, .. } => Some(*revision),
            _ => None,
        };
        if exactly.is_some() && revision_of(object.as_ref()) != exactly {
            let (code, reason) = if object.is_none() { (404, "NotFound") } else { (409, "Conflict") };
            return WriteResponse::Refused {
                code,
                reason: reason.into(),
                message: "changed".into(),
                retry_after: None,
            };
        }
        let mut revision = self.revision.lock().unwrap();
        let mut next = match (&request.write.mutation.operation, object.as_ref()) {
            (WriteOp::Create(_), Some(_)) => {
                let reason = "AlreadyExists".to_string();
                return WriteResponse::Refused { code: 409, reason, message: "there".into(), retry_after: None };
            }
            (WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. }, _) => body.clone(),
            (WriteOp::Patch { body, .. }, Some(object)) => {
                let mut object = object.clone();
                let count = object["data"]["n"].as_str().unwrap_or("0").parse::<u32>().unwrap();
                assert_eq!(body["append"], true);
                object["data"]["n"] = (count + 1).to_string().into();
                object
            }
            (WriteOp::Delete { .. }, Some(_)) => {
                *object = None;
                *self.effects.lock().unwrap() += 1;
                return WriteResponse::Done { after: None, revision: 0 };
            }
            (_, None) => {
                let reason = "NotFound".to_string();
                return WriteResponse::Refused { code: 404, reason, message: "gone".into(), retry_after: None };
            }
        };
        *revision += 1;
        next["metadata"]["resourceVersion"] = revision.to_string().into();
        next["metadata"]["managedFields"] = json!([{"manager": request.manager, "time": "2026-01-01T00:00:00Z"}]);
        *object = Some(next.clone());
        *self.effects.lock().unwrap() += 1;
        WriteResponse::Done { after: Some(next), revision: *revision }
    }
}

impl Writer for FlakyWriter {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, WriteResponse> {
        let (lost, done) = self.script.lock().unwrap().pop().unwrap_or((false, true));
        let answer = if done { self.carry(request) } else { WriteResponse::Unknown { message: "cut".into() } };
        let answer = if lost { WriteResponse::Unknown { message: "cut".into() } } else { answer };
        Box::pin(async move { answer })
    }

    fn get<'a>(&'a self, _key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        *self.looks.lock().unwrap() += 1;
        let object = self.object.lock().unwrap().clone();
        Box::pin(async move { Ok(object) })
    }

    fn wait(&self, _time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn held() -> Value {
    json!({"metadata": {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "10"}, "data": {"n": "0"}})
}

fn wanted() -> Value {
    json!({"metadata": {"name": "a", "namespace": "shop"}, "data": {"n": "1"}})
}

fn write(mutation: Mutation) -> Write {
    let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(mutation.resource.clone()) };
    let object = ObjectKey { table, namespace: "shop".into(), name: "a".into() };
    Write { mutation, object, result: WriteResult::Skipped }
}

fn expecting(mut mutation: Mutation) -> Mutation {
    mutation.preconditions = Preconditions::Exact { uid: "u".into(), revision: 10 };
    mutation
}

fn operations() -> Vec<(Option<Value>, Mutation)> {
    let append = || Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Strategic, json!({"append": true}));
    vec![
        (None, Mutation::create(&CONFIG_MAPS, wanted())),
        (Some(held()), expecting(Mutation::update(&CONFIG_MAPS, wanted()))),
        (Some(held()), Mutation::apply(&CONFIG_MAPS, wanted())),
        (Some(held()), expecting(append())),
        (Some(held()), append().unconditional()),
        (Some(held()), expecting(Mutation::delete(&CONFIG_MAPS, "shop", "a"))),
        (Some(held()), Mutation::delete(&CONFIG_MAPS, "shop", "a").unconditional()),
    ]
}

async fn carry(writer: &FlakyWriter, mutation: Mutation) -> ExecutedWrite {
    execute(writer, vec![write(mutation)], None, "me", false).await.remove(0)
}

#[tokio::test]
async fn guarantees_a_lost_response_has_one_effect() {
    for (start, mutation) in operations() {
        let writer = FlakyWriter::holding(start, &[(true, true)]);
        let executed = carry(&writer, mutation.clone()).await;
        let effects = *writer.effects.lock().unwrap();
        // Applying the same fields twice has one effect on the object.
        let once = effects == 1 || matches!(mutation.operation, WriteOp::Apply { .. });
        assert!(once, "{mutation}: {effects} effects");
        assert!(
            matches!(executed.write.result, WriteResult::Written { .. }),
            "{mutation}: {:?}",
            executed.write.result
        );
    }
}

#[tokio::test]
async fn a_lost_write_is_retried_or_decided_again() {
    for (start, mutation) in operations() {
        let writer = FlakyWriter::holding(start, &[(true, false)]);
        let executed = carry(&writer, mutation.clone()).await;
        let effects = *writer.effects.lock().unwrap();
        match executed.write.result {
            WriteResult::Written { .. } => assert_eq!(effects, 1, "{mutation}"),
            WriteResult::Stale { .. } => assert_eq!(effects, 0, "{mutation}"),
            other => panic!("{mutation}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_object_of_another_writer_is_not_mistaken_for_ours() {
    let writer = FlakyWriter::holding(Some(held()), &[]);
    let executed = carry(&writer, Mutation::create(&CONFIG_MAPS, wanted())).await;
    assert!(matches!(executed.write.result, WriteResult::Stale { .. }), "{:?}", executed.write.result);
}

#[tokio::test]
async fn guarantees_nothing_is_written_after_a_failure() {
    let writer = FlakyWriter::holding(Some(held()), &[]);
    let mut stale = Mutation::update(&CONFIG_MAPS, wanted());
    stale.preconditions = Preconditions::Exact { uid: "u".into(), revision: 9 };
    let next = Mutation::apply(&CONFIG_MAPS, wanted());
    let executed = execute(&writer, vec![write(stale), write(next)], None, "me", false).await;
    assert!(matches!(executed[0].write.result, WriteResult::Stale { .. }));
    assert_eq!(executed[1].write.result, WriteResult::Skipped);
    assert_eq!(*writer.effects.lock().unwrap(), 0);
}

/// For example in a terminating namespace, where nothing can be created any more.
#[tokio::test]
async fn guarantees_a_rejected_event_stops_nothing() {
    const EVENTS: Resource = Resource::namespaced("", "v1", "Event", "events");
    let writer = FlakyWriter::holding(None, &[]);
    let event = Mutation::patch(&EVENTS, "shop", "a", PatchType::Strategic, json!({"append": true})).unconditional();
    let next = Mutation::apply(&CONFIG_MAPS, wanted());
    let executed = execute(&writer, vec![write(event), write(next)], None, "me", false).await;
    let told = WriteResult::EventRejected { message: "gone".to_string() };
    assert_eq!(executed[0].write.result, told, "neither failed nor left untried");
    assert_eq!(executed[1].write.result, WriteResult::Written { revision: 11 });
}

/// The name is derived from content and time, so a repeated Event has the same name.
#[tokio::test]
async fn an_event_that_exists_already_is_unchanged() {
    const EVENTS: Resource = Resource::namespaced("", "v1", "Event", "events");
    let writer = FlakyWriter::holding(Some(held()), &[]);
    let writes = [Mutation::create(&EVENTS, wanted()), Mutation::apply(&CONFIG_MAPS, wanted())];
    let executed = execute(&writer, writes.map(write).into(), None, "me", false).await;
    assert_eq!(executed[0].write.result, WriteResult::Unchanged);
    assert_eq!(executed[1].write.result, WriteResult::Written { revision: 11 }, "and nothing waits for it");
}

#[tokio::test]
async fn a_second_write_of_a_run_follows_the_first() {
    let writer = FlakyWriter::holding(Some(held()), &[]);
    let patch = || expecting(Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Strategic, json!({"append": true})));
    let executed = execute(&writer, vec![write(patch()), write(patch())], None, "me", false).await;
    assert_eq!(executed[1].write.result, WriteResult::Written { revision: 12 });
}

#[tokio::test]
async fn known_objects_are_not_fetched() {
    const EVENTS: Resource = Resource::namespaced("", "v1", "Event", "events");
    let writer = FlakyWriter::holding(None, &[]);
    let writes = [
        Mutation::create(&CONFIG_MAPS, wanted()),
        Mutation::update(&CONFIG_MAPS, wanted()),
        Mutation::apply(&EVENTS, wanted()),
    ];
    let executed = execute(&writer, writes.map(write).into(), None, "me", false).await;
    assert_eq!(*writer.looks.lock().unwrap(), 0);
    assert_eq!(executed[0].before, None);
    assert_eq!(executed[1].before, executed[0].after, "what the first left behind");
    // Without a precondition, another client may have written meanwhile.
    execute(&writer, vec![write(Mutation::apply(&CONFIG_MAPS, wanted()))], None, "me", false).await;
    assert_eq!(*writer.looks.lock().unwrap(), 1);
}

#[test]
fn preconditions_are_part_of_the_request() {
    let request =
        |mutation| WriteRequest { write: write(mutation), user: None, manager: "me too".into(), dry_run: true };
    let delete = prepare(&request(expecting(Mutation::delete(&CONFIG_MAPS, "shop", "a"))));
    assert_eq!(delete.uri, "/api/v1/namespaces/shop/configmaps/a");
    assert_eq!(delete.body["dryRun"], json!(["All"]));
    assert_eq!(delete.body["preconditions"], json!({"uid": "u", "resourceVersion": "10"}));
    let mut own = Mutation::delete(&CONFIG_MAPS, "shop", "a").unconditional();
    own.delete_options = DeleteOptions { uid: Some("mine".into()), grace_seconds: Some(0), ..DeleteOptions::default() };
    let delete = prepare(&request(own));
    assert_eq!(delete.body["preconditions"], json!({"uid": "mine"}));
    assert_eq!(delete.body["gracePeriodSeconds"], 0);
    let steps = json!([{"op": "remove", "path": "/data"}]);
    let patch = prepare(&request(expecting(Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Json, steps))));
    assert_eq!(patch.uri, "/api/v1/namespaces/shop/configmaps/a?fieldManager=me%20too&dryRun=All");
    let usual = Mutation::create(&CONFIG_MAPS, wanted());
    assert!(serde_json::to_value(&usual).unwrap().get("fieldValidation").is_none(), "as journals had it before");
    let strict = Mutation { field_validation: Some("Strict".into()), ..usual };
    let kept: Mutation = serde_json::from_value(serde_json::to_value(&strict).unwrap()).unwrap();
    assert_eq!(kept, strict);
    let uri = "/api/v1/namespaces/shop/configmaps?fieldManager=me%20too&fieldValidation=Strict&dryRun=All";
    assert_eq!(prepare(&request(strict)).uri, uri);
    assert_eq!(patch.body.as_array().unwrap().len(), 2);
    assert_eq!(patch.body[0], json!({"op": "add", "path": "/metadata/resourceVersion", "value": "10"}));
}

#[test]
fn a_subresource_is_created_at_the_object() {
    const PODS: Resource = Resource::namespaced("", "v1", "Pod", "pods");
    let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": "shop"}});
    let eviction = Mutation { subresource: Some("eviction".into()), ..Mutation::create(&PODS, body) };
    let request = WriteRequest { write: write(eviction), user: None, manager: "me".into(), dry_run: false };
    let prepared = prepare(&request);
    assert_eq!(prepared.method, http::Method::POST);
    assert_eq!(prepared.uri, "/api/v1/namespaces/shop/pods/a/eviction?fieldManager=me");
    assert_eq!(prepared.body["kind"], "Eviction");
}

#[tokio::test]
async fn an_invalid_write_fails_and_ends_the_run() {
    let (five, text) = (json!({"metadata": 5}), json!({"metadata": "x"}));
    let merge = |body: &Value| Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Merge, body.clone());
    let invalid = [
        Mutation::create(&CONFIG_MAPS, five.clone()),
        expecting(Mutation::update(&CONFIG_MAPS, five.clone())),
        expecting(merge(&text)),
        Mutation { subresource: Some("../secrets".into()), ..merge(&json!({})) },
    ];
    for mutation in invalid {
        let writer = FlakyWriter::holding(Some(held()), &[]);
        let writes = vec![write(mutation.clone()), write(Mutation::apply(&CONFIG_MAPS, wanted()))];
        let executed = execute(&writer, writes, None, "me", false).await;
        assert!(matches!(executed[0].write.result, WriteResult::Failed { .. }), "{mutation}: {:?}", executed[0]);
        assert_eq!(executed[1].write.result, WriteResult::Skipped);
        assert_eq!((*writer.effects.lock().unwrap(), *writer.looks.lock().unwrap()), (0, 0), "{mutation}");
        // A request built without validation is rejected by the server.
        let request = WriteRequest { write: write(mutation), user: None, manager: "me".into(), dry_run: false };
        prepare(&request);
    }
}

#[test]
fn a_name_cannot_address_another_object() {
    let mut named = write(Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Merge, json!({})));
    named.object.name = "target?dryRun=All&x=".into();
    named.object.namespace = "shop#1/ü".into();
    let request = WriteRequest { write: named, user: None, manager: "me".into(), dry_run: false };
    let path = "/api/v1/namespaces/shop%231%2F%C3%BC/configmaps/target%3FdryRun=All&x=";
    assert_eq!(prepare(&request).uri, format!("{path}?fieldManager=me"));
    assert_eq!(request.write.object.path(), path);
    assert_eq!(CONFIG_MAPS.path("kube-system"), "/api/v1/namespaces/kube-system/configmaps");
}

/// Cluster with read-only access.
struct ReadOnlyWriter(Option<Value>);

impl Writer for ReadOnlyWriter {
    fn send<'a>(&'a self, _: &'a WriteRequest) -> BoxFuture<'a, WriteResponse> {
        let (reason, message) = ("Forbidden".to_string(), "you may not".to_string());
        Box::pin(async { WriteResponse::Refused { code: 403, reason, message, retry_after: None } })
    }

    fn get<'a>(&'a self, _: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn wait(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[tokio::test]
async fn read_only_access_gets_an_estimated_dry_run() {
    let there = json!({"metadata": {"name": "a", "namespace": "shop", "labels": {"by": "hand"}}, "data": {"n": "0", "kept": "x"}});
    let wanted = json!({"metadata": {"name": "a", "namespace": "shop"}, "data": {"n": "1"}});
    let merge = Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Merge, json!({"data": {"kept": null}}));
    let outcomes = [
        (Mutation::apply(&CONFIG_MAPS, wanted), json!({"n": "1", "kept": "x"})),
        (merge.unconditional(), json!({"n": "0"})),
    ];
    for (mutation, data) in outcomes {
        let writer = ReadOnlyWriter(Some(there.clone()));
        let executed = execute(&writer, vec![write(mutation)], None, "me", true).await.remove(0);
        assert_eq!(executed.write.result, WriteResult::DryRun);
        assert_eq!(executed.after.as_ref().map(|after| &after["data"]), Some(&data));
        assert_eq!(executed.unchecked.as_deref(), Some("you may not"));
    }
    // A result that cannot be computed here is not guessed, and a real write is rejected as before.
    let strategic = Mutation::patch(&CONFIG_MAPS, "shop", "a", PatchType::Strategic, json!({})).unconditional();
    for (mutation, dry_run) in [(strategic, true), (Mutation::apply(&CONFIG_MAPS, there.clone()), false)] {
        let writer = ReadOnlyWriter(Some(there.clone()));
        let executed = execute(&writer, vec![write(mutation)], None, "me", dry_run).await.remove(0);
        assert_eq!(executed.write.result, WriteResult::Failed { message: "you may not".to_string() });
    }
}

/// Reader with the one object that a unit had read, or without any.
#[derive(Default)]
struct SingleObjectReader(Option<Value>);

impl Reader for SingleObjectReader {
    fn get(&self, key: &ObjectKey) -> Option<Option<crate::object::Object>> {
        let Some(object) = &self.0 else { return Some(None) };
        let (revision, json) = (revision_of(Some(object))?, object.to_string().into_bytes().into());
        Some(Some(crate::object::Object { key: key.clone(), revision, json }))
    }

    fn list(
        &self,
        _: &crate::resource::ListQuery,
        _: &switchboard_object::selector::LabelSelector,
    ) -> Option<Vec<crate::object::Object>> {
        None
    }

    fn revision(&self, _: &ClusterName) -> u64 {
        10
    }
}

async fn carry_upon(writer: &FlakyWriter, seen: &Value, mutation: Mutation) -> ExecutedWrite {
    let seen = SingleObjectReader(Some(seen.clone()));
    execute_with_reader(Some(&seen), writer, vec![write(mutation)], None, "me", false).await.remove(0)
}

#[tokio::test]
async fn writes_bound_to_the_read_revision_need_no_read() {
    for (start, mutation) in operations() {
        let bound = matches!(mutation.preconditions, Preconditions::Exact { .. })
            || matches!(mutation.operation, WriteOp::Create(_));
        let writer = FlakyWriter::holding(start.clone(), &[]);
        let executed = carry_upon(&writer, &held(), mutation.clone()).await;
        assert!(
            matches!(executed.write.result, WriteResult::Written { .. }),
            "{mutation}: {:?}",
            executed.write.result
        );
        assert_eq!(*writer.looks.lock().unwrap(), u32::from(!bound), "{mutation}");
        assert_eq!(executed.before, start, "{mutation}: the object before is known all the same");
        // The object has changed since it was read, so the server rejects the write.
        let mut later = held();
        later["metadata"]["resourceVersion"] = "11".into();
        let writer = FlakyWriter::holding(start.is_some().then_some(later), &[]);
        let executed = carry_upon(&writer, &held(), mutation.clone()).await;
        let stale = matches!(executed.write.result, WriteResult::Stale { .. });
        assert_eq!(
            stale,
            matches!(mutation.preconditions, Preconditions::Exact { .. }),
            "{mutation}: {:?}",
            executed.write.result
        );
    }
}

#[tokio::test]
async fn an_object_that_is_absent_in_the_cache_is_applied_without_a_read() {
    for start in [None, Some(held())] {
        // The second object was created after the cache was read.
        let writer = FlakyWriter::holding(start, &[]);
        let writes = vec![write(Mutation::apply(&CONFIG_MAPS, wanted()))];
        let absent = SingleObjectReader::default();
        let executed = execute_with_reader(Some(&absent), &writer, writes, None, "me", false).await.remove(0);
        assert_eq!((*writer.looks.lock().unwrap(), executed.before), (0, None));
        assert_eq!(executed.write.result, WriteResult::Written { revision: 11 });
    }
}

#[tokio::test]
async fn a_lost_response_to_a_write_without_a_read_has_one_effect() {
    for (start, mutation) in
        operations().into_iter().filter(|(_, one)| matches!(one.preconditions, Preconditions::Exact { .. }))
    {
        let mut start = start.unwrap();
        // Another manager wrote it before, which the cache does not keep.
        start["metadata"]["managedFields"] = json!([{"manager": "other", "time": "2025-01-01T00:00:00Z"}]);
        let writer = FlakyWriter::holding(Some(start), &[(true, true)]);
        let executed = carry_upon(&writer, &held(), mutation.clone()).await;
        assert_eq!(*writer.effects.lock().unwrap(), 1, "{mutation}");
        assert!(
            matches!(executed.write.result, WriteResult::Written { .. }),
            "{mutation}: {:?}",
            executed.write.result
        );
    }
}
