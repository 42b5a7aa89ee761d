//! Snapshot of all database rows and all objects of all kinds in all namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{DynamicObject, ListParams};
use kube::core::ApiResource;
use kube::discovery::{Discovery, verbs};
use switchboard_gitops::ids::OperationState;
use switchboard_gitops::rows::fleet::{self, Member, Move, Placement};
use switchboard_gitops::rows::tenant_clusters::{self, ServiceAccount, TenantCluster};
use switchboard_gitops::rows::*;
use switchboard_sql::{Filter, Ledger, Row};

use super::fixture::{GitopsFixture, INSTANCES, TIMEOUT};

const POLL: Duration = Duration::from_millis(200);

/// Kinds whose objects come and go by themselves.
const TRANSIENT_KINDS: [&str; 3] = ["Event", "Lease", "EndpointSlice"];

/// All rows and objects, by table or kind.
pub type StateSnapshot = BTreeMap<String, BTreeSet<String>>;

pub async fn rows(ledger: &Ledger) -> StateSnapshot {
    let mut found = StateSnapshot::new();
    macro_rules! tables {
        ($($row:ty)*) => {$({
            let rows: Vec<$row> = ledger.list(&Filter::all()).await.unwrap();
            found.insert(<$row>::TABLE.name.to_string(), rows.iter().map(|row| format!("{:?}", row.key())).collect());
        })*};
    }
    tables! {
        ClusterCredentials EngineCluster EngineInstance ManagedEnvironment ClusterUser ClusterAccess Application ApplicationState
        DeploymentToApplication KubernetesToDatabase ApiToDatabase SyncOperation RepositoryCredentials AppProjectRepository
        AppProjectManagedEnvironment ApplicationOwner Member Placement Move ServiceAccount TenantCluster
    }
    let operations: Vec<Operation> = ledger.list(&Filter::all()).await.unwrap();
    // Completed operations are kept for a while.
    let open =
        operations.iter().filter(|row| matches!(row.state, OperationState::Waiting | OperationState::InProgress));
    found.insert(Operation::TABLE.name.to_string(), open.map(|row| format!("{row:?}")).collect());
    let all: BTreeSet<String> =
        [TABLES, fleet::TABLES, tenant_clusters::TABLES].concat().iter().map(|table| table.name.to_string()).collect();
    assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), all, "every table is looked at");
    found
}

pub async fn objects(client: &Client) -> StateSnapshot {
    let mut found = StateSnapshot::new();
    let discovery = Discovery::new(client.clone()).run().await.unwrap();
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            if capabilities.supports_operation(verbs::LIST) && !TRANSIENT_KINDS.contains(&resource.kind.as_str()) {
                let names = objects_of_kind(client, &resource).await;
                found.insert(format!("{} {}", resource.api_version, resource.kind), names);
            }
        }
    }
    found
}

async fn objects_of_kind(client: &Client, resource: &ApiResource) -> BTreeSet<String> {
    let api: kube::Api<DynamicObject> = kube::Api::all_with(client.clone(), resource);
    let listed = api.list(&ListParams::default()).await.unwrap();
    let mut names = BTreeSet::new();
    for object in listed {
        let (namespace, name) =
            (object.metadata.namespace.unwrap_or_default(), object.metadata.name.unwrap_or_default());
        let labels = object.metadata.labels.unwrap_or_default();
        // Objects that Argo CD creates for itself at any time.
        let of_argo = INSTANCES.contains(&namespace.as_str())
            && match resource.kind.as_str() {
                "Secret" => !labels.contains_key("databaseID"),
                "AppProject" => name == "default",
                "ConfigMap" => true,
                _ => false,
            };
        if !of_argo {
            names.insert(format!("{namespace}/{name}"));
        }
    }
    names
}

impl GitopsFixture {
    /// Waits until only the initial rows and objects are left.
    pub async fn until_initial(&self) {
        let end = Instant::now() + TIMEOUT;
        loop {
            let mut left = difference(&rows(&self.ledger).await, &self.initial.0);
            left.extend(difference(&objects(&self.client).await, &self.initial.1));
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "left: {left:#?}");
            tokio::time::sleep(POLL).await;
        }
    }
}

fn difference(now: &StateSnapshot, then: &StateSnapshot) -> Vec<String> {
    let more = now.iter().flat_map(|(place, names)| names.iter().map(move |name| (place, name)));
    let more = more.filter(|(place, name)| !then.get(*place).is_some_and(|all| all.contains(*name)));
    more.map(|(place, name)| format!("{place}: {name}")).collect()
}
