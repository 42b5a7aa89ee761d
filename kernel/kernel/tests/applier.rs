//! Applier with the embedded cluster: all operations, preconditions, permissions, dry runs, lost responses.

#![allow(clippy::unwrap_used)]

#[path = "applier/faulty.rs"]
mod faulty;
#[path = "applier/operations.rs"]
mod operations;

use faulty::{FaultyConnection, WriteFault};
use operations::{CONFIG_MAPS, NAMESPACES, WriteCase, cases, key};
use serde_json::{Value, json};
use switchboard_kernel::applier::{ExecutedWrite, execute};
use switchboard_kernel::decision::{Write, WriteResult};
use switchboard_kernel::operator::ServiceAccount;
use switchboard_kernel::plan::{Mutation, PatchType, Preconditions};
use switchboard_kernel::resource::Resource;

const MANAGER: &str = "plugs";

fn write(mutation: &Mutation) -> Write {
    let object = key(&mutation.resource, &mutation.namespace, &mutation.name);
    Write { mutation: mutation.clone(), object, result: WriteResult::Skipped }
}

async fn carry(writer: &FaultyConnection, mutations: &[Mutation]) -> Vec<ExecutedWrite> {
    execute(writer, mutations.iter().map(write).collect(), None, MANAGER, false).await
}

async fn carry_as(writer: &FaultyConnection, mutation: &Mutation, account: &ServiceAccount) -> WriteResult {
    execute(writer, vec![write(mutation)], Some(account), MANAGER, false).await.remove(0).write.result
}

fn is_written(result: &WriteResult) -> bool {
    matches!(result, WriteResult::Written { .. })
}

/// Creates the object of a case, and returns the write with its preconditions.
async fn prepare(case: &WriteCase, writer: &FaultyConnection) -> Mutation {
    let before = writer.set_up(case).await;
    case.mutation(before.as_ref())
}

#[tokio::test]
async fn every_operation_has_its_effect() {
    for case in cases() {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        let before = writer.object(&case.key()).await;
        let executed = carry(&writer, &[mutation]).await.remove(0);
        let after = writer.object(&case.key()).await;
        assert!(is_written(&executed.write.result), "{}: {:?}", case.name, executed.write.result);
        assert_eq!((&executed.before, &executed.after), (&before, &after), "{}", case.name);
        assert!((case.done)(after.as_ref()), "{}: {after:?}", case.name);
        let revision = after.as_ref().map_or("0", |after| after["metadata"]["resourceVersion"].as_str().unwrap());
        assert_eq!(
            executed.write.result,
            WriteResult::Written { revision: revision.parse().unwrap() },
            "{}",
            case.name
        );
    }
}

#[tokio::test]
async fn changed_objects_are_not_written() {
    for case in cases().into_iter().filter(|case| case.exact) {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        writer.write_as_other(&case.key()).await;
        let meddled = writer.object(&case.key()).await;
        let result = carry(&writer, std::slice::from_ref(&mutation)).await.remove(0).write.result;
        assert!(matches!(result, WriteResult::Stale { .. }), "{}: {result:?}", case.name);
        assert_eq!(writer.object(&case.key()).await, meddled, "{}", case.name);

        writer.recreate(&case).await;
        let recreated = writer.object(&case.key()).await;
        let result = carry(&writer, &[mutation]).await.remove(0).write.result;
        assert!(matches!(result, WriteResult::Stale { .. }), "{} of another: {result:?}", case.name);
        assert_eq!(writer.object(&case.key()).await, recreated, "{} of another", case.name);
    }
}

#[tokio::test]
async fn unconditional_writes_are_made_despite_changes() {
    for case in cases().into_iter().filter(|case| !case.exact && case.start.is_some()) {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        writer.write_as_other(&case.key()).await;
        let result = carry(&writer, &[mutation]).await.remove(0).write.result;
        assert!(is_written(&result), "{}: {result:?}", case.name);
    }
}

/// With lost responses there is at most one effect, and it is reported correctly.
#[tokio::test]
async fn a_lost_response_is_one_effect() {
    use WriteFault::{Done, NotDone, Refused};
    let scripts: [&[WriteFault]; 6] = [
        &[Done],
        &[NotDone],
        &[NotDone, Done],
        &[Done, NotDone],
        &[Refused, Done],
        &[Done, NotDone, NotDone, NotDone, NotDone],
    ];
    for (case, script) in cases().into_iter().flat_map(|case| scripts.map(|script| (case.clone(), script))) {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        writer.plan(script);
        let executed = carry(&writer, &[mutation]).await.remove(0);
        let (result, effects) = (&executed.write.result, writer.effects());
        let told = format!("{} with {script:?}: {effects} effects, {result:?}", case.name);
        let after = writer.object(&case.key()).await;
        match result {
            WriteResult::Written { .. } => {
                assert_eq!((effects, &executed.after), (1, &after), "{told}");
                assert!((case.done)(after.as_ref()), "{told}");
            }
            // Not made, or unknown: the unit decides again from the current objects.
            WriteResult::Stale { .. } => assert_eq!(effects, 0, "{told}"),
            other => panic!("{told}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_failure_that_had_no_effect() {
    for case in cases() {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        writer.plan(&[WriteFault::NotDone; 20]);
        let result = carry(&writer, &[mutation]).await.remove(0).write.result;
        assert!(matches!(result, WriteResult::Failed { .. } | WriteResult::Stale { .. }), "{}: {result:?}", case.name);
        assert_eq!(writer.effects(), 0, "{}", case.name);
    }
}

/// The write was lost, and another client wrote before the retry: that write is not mistaken for ours.
#[tokio::test]
async fn writes_of_others_are_not_mistaken_for_ours() {
    for case in cases().into_iter().filter(|case| case.exact) {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        writer.plan(&[WriteFault::NotDoneAndOtherWrite]);
        let result = carry(&writer, &[mutation]).await.remove(0).write.result;
        assert!(matches!(result, WriteResult::Stale { .. }), "{}: {result:?}", case.name);
        let after = writer.object(&case.key()).await;
        assert!(!(case.done)(after.as_ref()), "{}: {after:?}", case.name);
    }
}

#[tokio::test]
async fn a_run_of_writes_follows_itself() {
    let writer = FaultyConnection::new().await;
    let case = cases().into_iter().find(|case| case.name == "update").unwrap();
    let update = prepare(&case, &writer).await;
    let Preconditions::Exact { uid, revision } = update.preconditions.clone() else { panic!("{update:?}") };
    let exactly = |mutation: Mutation| Mutation {
        preconditions: Preconditions::Exact { uid: uid.clone(), revision },
        ..mutation
    };
    let merge = |body: Value| Mutation::patch(&CONFIG_MAPS, "default", "web", PatchType::Merge, body);
    let made = json!({ "metadata": { "namespace": "default", "name": "web" }, "data": { "a": "new" } });
    let run = [
        update.clone(),
        // Changes nothing.
        merge(json!({ "kind": "ConfigMap" })),
        exactly(merge(json!({ "data": { "b": "2" } }))),
        exactly(Mutation::delete(&CONFIG_MAPS, "default", "web")),
        Mutation::create(&CONFIG_MAPS, made),
        exactly(merge(json!({ "data": { "c": "3" } }))),
    ];
    let executed = carry(&writer, &run).await;
    let results: Vec<_> = executed.iter().map(|executed| executed.write.result.clone()).collect();
    assert_eq!(results[1], WriteResult::Unchanged);
    assert!(results.iter().enumerate().all(|(n, result)| n == 1 || is_written(result)), "{results:#?}");
    assert_eq!(executed[5].after.as_ref().unwrap()["data"], json!({ "a": "new", "c": "3" }));
}

#[tokio::test]
async fn guarantees_nothing_is_written_after_a_failure() {
    let writer = FaultyConnection::new().await;
    let map = |namespace: &str, name: &str| json!({ "metadata": { "namespace": namespace, "name": name } });
    let run =
        [Mutation::create(&CONFIG_MAPS, map("nowhere", "a")), Mutation::create(&CONFIG_MAPS, map("default", "b"))];
    let executed = carry(&writer, &run).await;
    let WriteResult::Failed { message } = &executed[0].write.result else { panic!("{executed:?}") };
    assert_eq!(message, "namespaces \"nowhere\" not found");
    assert_eq!(executed[1].write.result, WriteResult::Skipped);
    assert_eq!(writer.object(&key(&CONFIG_MAPS, "default", "b")).await, None);
}

#[tokio::test]
async fn writes_count_as_the_service_accounts() {
    let writer = FaultyConnection::new().await;
    let account = ServiceAccount { namespace: "default".to_string(), name: "plugs".to_string() };
    let create =
        |name: &str| Mutation::create(&CONFIG_MAPS, json!({ "metadata": { "namespace": "default", "name": name } }));
    let WriteResult::Failed { message } = carry_as(&writer, &create("a"), &account).await else { panic!("allowed") };
    assert_eq!(
        message,
        "configmaps is forbidden: User \"system:serviceaccount:default:plugs\" cannot create resource \"configmaps\" in \
         API group \"\" in the namespace \"default\""
    );
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] }]);
    let rbac = |kind: &'static str, plural: &'static str| {
        Resource::namespaced("rbac.authorization.k8s.io", "v1", kind, plural)
    };
    let metadata = json!({ "namespace": "default", "name": "writes" });
    let role = Mutation::create(&rbac("Role", "roles"), json!({ "metadata": metadata, "rules": rules }));
    let binding = |name: &str, subject: Value| {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writes" });
        let metadata = json!({ "namespace": "default", "name": name });
        let body = json!({ "metadata": metadata, "roleRef": role, "subjects": [subject] });
        Mutation::create(&rbac("RoleBinding", "rolebindings"), body)
    };
    let named = json!({ "kind": "ServiceAccount", "namespace": "default", "name": "plugs" });
    let executed = carry(&writer, &[role, binding("named", named)]).await;
    assert!(executed.iter().all(|executed| is_written(&executed.write.result)), "{executed:?}");
    assert!(is_written(&carry_as(&writer, &create("a"), &account).await));
    let other = ServiceAccount { name: "sockets".to_string(), ..account };
    assert!(matches!(carry_as(&writer, &create("b"), &other).await, WriteResult::Failed { .. }));
    // The server adds the groups of a service account by its name.
    let group =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts:default" });
    assert!(is_written(&carry(&writer, &[binding("group", group)]).await[0].write.result));
    assert!(is_written(&carry_as(&writer, &create("b"), &other).await));
}

async fn pretend(writer: &FaultyConnection, mutations: &[Mutation]) -> Vec<ExecutedWrite> {
    execute(writer, mutations.iter().map(write).collect(), None, MANAGER, true).await
}

#[tokio::test]
async fn guarantees_a_dry_run_writes_nothing() {
    for case in cases() {
        let writer = FaultyConnection::new().await;
        let mutation = prepare(&case, &writer).await;
        let before = writer.object(&case.key()).await;
        let executed = pretend(&writer, &[mutation]).await.remove(0);
        assert_eq!(executed.write.result, WriteResult::DryRun, "{}", case.name);
        assert_eq!(executed.before, before, "{}", case.name);
        assert!((case.done)(executed.after.as_ref()), "{}: {:?}", case.name, executed.after);
        assert_eq!(writer.object(&case.key()).await, before, "{}", case.name);
        assert_eq!(writer.effects(), 0, "{}", case.name);
    }
}

#[tokio::test]
async fn a_dry_run_continues_in_a_namespace_it_would_have_created() {
    let writer = FaultyConnection::new().await;
    let web = json!({ "metadata": { "namespace": "new", "name": "web" }, "data": { "a": "1" } });
    let run = [
        Mutation::apply(&NAMESPACES, json!({ "metadata": { "name": "new" } })),
        Mutation::apply(&CONFIG_MAPS, web),
        Mutation::create(&CONFIG_MAPS, json!({ "metadata": { "namespace": "nowhere", "name": "web" } })),
    ];
    let executed = pretend(&writer, &run).await;
    let results: Vec<_> = executed.iter().map(|executed| &executed.write.result).collect();
    assert_eq!(results[..2], [&WriteResult::DryRun; 2]);
    assert_eq!(executed[1].after.as_ref().unwrap()["data"], json!({ "a": "1" }));
    assert!(matches!(results[2], WriteResult::Failed { .. }), "{results:?}");
    assert_eq!(writer.object(&key(&NAMESPACES, "", "new")).await, None);
}

#[tokio::test]
async fn a_dry_run_reports_writes_that_would_change_nothing() {
    let writer = FaultyConnection::new().await;
    let apply = Mutation::apply(&CONFIG_MAPS, json!({ "metadata": { "namespace": "default", "name": "web" } }));
    assert!(is_written(&carry(&writer, std::slice::from_ref(&apply)).await[0].write.result));
    assert_eq!(pretend(&writer, &[apply]).await[0].write.result, WriteResult::Unchanged);
}
