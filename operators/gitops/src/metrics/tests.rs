#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_sql::{Address, DbTimestamp, RowChange, Sealer};

use super::*;
use crate::ids::InstanceState;
use crate::placement::{IncomingLoad, selection};
use crate::random_id;
use crate::rows::EngineInstance;
use crate::rows::fleet::Member;
use crate::tenant::TenantNamespace;

mod promql;

/// Gauges of managed-gitops, of both backend and agent.
const MANAGED_GITOPS_GAUGES: [&str; 13] = [
    "active_gitopsDeployments{gitopsDeployment=\"success\"} 7",
    "gitopsDeployments_failures{gitopsDeployment=\"fail\"} 2",
    "total_number_of_operationDB_rows 10",
    "operationDB_rows_in_waiting_state 1",
    "operationDB_rows_in_in_progress_state 2",
    "operationDB_rows_in_completed_state 3",
    "operationDB_rows_in_error_state 4",
    "total_operationDB_rows_in_complete_state 7",
    "operationDB_rows_in_non_complete_state 3",
    "operationDB_completedState 3",
    "operationDB_failedState 4",
    "number_of_operationsCR 5",
    "gitops_argocd_apps_reconciled_percent 50",
];

#[test]
fn every_gauge_of_managed_gitops_is_present() {
    let counts = GitOpsCounts {
        deployments: 7,
        failures: 2,
        operations: [1, 2, 3, 4],
        engine: Some(EngineCounts { operations: 5, reconciled_percent: 50.0 }),
        ..GitOpsCounts::default()
    };
    let page = text(&counts);
    for line in MANAGED_GITOPS_GAUGES {
        assert!(page.lines().any(|found| found == line), "`{line}` is missing in\n{page}");
    }
    let names: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let once: BTreeSet<&&str> = names.iter().collect();
    assert_eq!(once.len(), names.len(), "a metric is defined once: {names:?}");
}

/// Returns an instance with one placement and one Application.
fn entry(id: &str, cluster: &str, state: InstanceState) -> FleetInstance {
    FleetInstance {
        candidate: InstanceCandidate {
            instance: EngineInstance {
                id: id.into(),
                namespace: "argocd".into(),
                namespace_uid: id.into(),
                cluster: cluster.into(),
            },
            member: Some(Member {
                instance: id.into(),
                state,
                max_applications: 10,
                max_environments: 10,
                created_on: DbTimestamp::default(),
            }),
            applications: 1,
            environments: 1,
            incoming: IncomingLoad::default(),
        },
        moving: 0,
        cluster: cluster.into(),
    }
}

#[test]
fn instances_of_the_same_name_have_different_labels() {
    let page = text(&GitOpsCounts {
        instances: vec![entry("a", "one", InstanceState::Active), entry("b", "two", InstanceState::Cordoned)],
        clusters: BTreeMap::from([("one".into(), "uid-1".into())]),
        ..GitOpsCounts::default()
    });
    for labels in [
        "{argocd_namespace=\"argocd\",cluster=\"uid-1\",state=\"active\"}",
        "{argocd_namespace=\"argocd\",cluster=\"two\",state=\"cordoned\"}",
    ] {
        let line = format!("switchboard_gitops_instance_applications_limit{labels} 10");
        assert!(page.lines().any(|found| found == line), "`{line}` is missing in\n{page}");
    }
    let series: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    let names: BTreeSet<&str> = series.iter().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name).collect();
    assert_eq!(names.len(), series.len(), "a series occurs once:\n{page}");
    assert!(!page.contains("{instance="), "Prometheus reserves that label");
}

#[test]
fn recently_compared_applications_count() {
    let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    let at = |at: &str| json!({ "status": { "reconciledAt": at } });
    let all = [at("2026-11-16T11:58:00Z"), at("2026-11-16T11:56:00Z"), json!({}), at("2026-11-16T12:00:00Z")];
    assert_eq!(reconciled(&all, now), 50.0);
    assert_eq!(reconciled(&[], now), 100.0);
}

/// Returns the metric names in a text.
fn used(text: &str) -> BTreeSet<String> {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let ours = |word: &&str| {
        [
            "switchboard_gitops_",
            "operationDB_",
            "gitops_argocd_",
            "number_of_",
            "active_gitops",
            "gitopsDeployments_",
            "total_",
        ]
        .iter()
        .any(|start| word.starts_with(start))
    };
    text.split(word).filter(ours).map(str::to_string).collect()
}

#[test]
fn dashboard_and_alerts_use_existing_metrics() {
    let counts = GitOpsCounts {
        instances: vec![entry("a", "one", InstanceState::Active)],
        engine: Some(EngineCounts::default()),
        ..GitOpsCounts::default()
    };
    // Metric of the kernel, which is on the same page.
    let page = format!("{}switchboard_operator_failures_total{{operator=\"gitops\"}} 0\n", text(&counts));
    let there = used(&page);
    for file in ["gitops-dashboard.json", "gitops-alerts.yaml"] {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana");
        let file_text = std::fs::read_to_string(root.join(file)).unwrap();
        let asked = used(&file_text);
        assert!(asked.len() >= 5, "{file}: {asked:?}");
        assert!(asked.is_subset(&there), "{file}: {:?}", asked.difference(&there).collect::<Vec<_>>());
        let mut expressions = Vec::new();
        expressions_of(&switchboard_object::yaml::read(&file_text).unwrap().value, &mut expressions);
        assert!(expressions.len() >= 5, "{file}: {expressions:?}");
        for expression in expressions {
            // Operands with different labels never match, and an alert over them never fires.
            let found = promql::evaluate(&expression, &page);
            assert!(found.is_ok(), "{file}: `{expression}`: {found:?}");
        }
    }
}

/// Collects all values of `expr`, at any depth.
fn expressions_of(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            into.extend(fields.get("expr").and_then(Value::as_str).map(str::to_string));
            fields.values().for_each(|field| expressions_of(field, into));
        }
        Value::Array(items) => items.iter().for_each(|item| expressions_of(item, into)),
        _ => {}
    }
}

/// An empty page would look healthy.
#[tokio::test]
async fn a_missing_engine_cluster_is_reported() {
    let ledger =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
    let is =
        |page: &str, line: &str| assert!(page.lines().any(|found| found == line), "`{line}` is missing in\n{page}");
    let (page, error) = super::page(&ledger, None, 0).await;
    assert!(matches!(error, Some(MetricsError::Rows(_))), "the database has no tables: {error:?}");
    is(&page, "switchboard_gitops_scrape_success 0");
    assert_eq!(used(&page).len(), 1, "{page}");

    ledger.migrate().await.unwrap();
    let namespace = TenantNamespace { name: "argocd".into(), uid: "argocd-uid".into() };
    let mut view = ledger.view().await.unwrap();
    let changes =
        selection::register(&mut view, &"kube-system".into(), &namespace, random_id::new, DbTimestamp::default()).await;
    view.end();
    ledger.commit(&changes.unwrap()).await.unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let away = kube::Config::new(format!("http://{closed}").parse().unwrap());
    let away = EngineClient::new(kube::Client::try_from(away).unwrap());
    let (page, error) = super::page(&ledger, Some(&away), 3).await;
    assert!(matches!(error, Some(MetricsError::Objects(_))), "{error:?}");
    is(&page, "switchboard_gitops_scrape_success 0");
    is(&page, "operationDB_rows_in_waiting_state 0");
    is(&page, "gitopsDeployments_failures{gitopsDeployment=\"fail\"} 3");
    assert!(page.contains("switchboard_gitops_instance_applications{"), "{page}");
    assert!(!page.contains("gitops_argocd_apps_reconciled_percent"), "the value is unknown: {page}");

    let (page, error) = super::page(&ledger, None, 0).await;
    assert!(error.is_none(), "{error:?}");
    is(&page, "switchboard_gitops_scrape_success 1");
}

/// A crashed agent leaves its Operations in progress, and a cordoned instance has capacity that is not available.
#[test]
fn alerts_are_not_silenced_by_their_cause() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana");
    let alerts = std::fs::read_to_string(root.join("gitops-alerts.yaml")).unwrap();
    let alerts = switchboard_object::yaml::read(&alerts).unwrap().value;
    let expression = |name: &str| {
        let mut rules = alerts["groups"][0]["rules"].as_array().unwrap().iter();
        rules.find(|rule| rule["alert"] == name).unwrap()["expr"].as_str().unwrap().to_string()
    };
    assert!(!used(&expression("GitOpsOperationsWait")).iter().any(|name| name.contains("in_progress")));
    let full = expression("GitOpsFleetFull");
    assert_eq!(full.matches("{state=\"active\"}").count(), 2, "{full}");
}

#[tokio::test]
async fn a_failure_that_succeeded_later_does_not_count() {
    let ledger =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let namespace = TenantNamespace { name: "argocd".into(), uid: "argocd-uid".into() };
    let mut view = ledger.view().await.unwrap();
    let changes =
        selection::register(&mut view, &"kube-system".into(), &namespace, random_id::new, DbTimestamp::default()).await;
    view.end();
    ledger.commit(&changes.unwrap()).await.unwrap();
    let instance = ledger.list::<EngineInstance>(&Filter::all()).await.unwrap().remove(0).id;
    let row = |id: &str, of: &str, at: i64, state: OperationState| Operation {
        id: id.into(),
        instance: instance.clone(),
        resource_id: of.into(),
        owner: None,
        resource: OperationResource::Application,
        created_on: DbTimestamp::from_unix_us(at),
        last_state_update: DbTimestamp::from_unix_us(at),
        state,
        human_readable_state: None,
        gc_expiration_s: None,
    };
    let rows = [
        row("1", "a", 1, OperationState::Failed),
        row("2", "a", 2, OperationState::Completed),
        row("3", "b", 1, OperationState::Completed),
        row("4", "b", 2, OperationState::Failed),
    ];
    ledger.commit(&rows.iter().map(RowChange::insert).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(count(&ledger, None).await.unwrap().failures, 1);
}
