//! Fixture: an in-memory database in which decisions are committed, so that they are tested against its constraints.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_sql::{Address, DbTimestamp, Filter, Ledger, Row, RowChange, RowKey, Sealer};

use crate::deployment::kind::{DeploymentDestination, DeploymentSource, DeploymentSpec};
use crate::deployment::{self, DeploymentRows, TargetEnvironment};
use crate::flow::{DecisionTime, KubernetesWrite, ReconcileResult};
use crate::ids::*;
use crate::kinds::{GitOpsDeployment, ObjectMeta};
use crate::repository::normalize;
use crate::rows::*;
use crate::tenant::{self, TenantNamespace};

pub const START: DbTimestamp = DbTimestamp { unix_us: 1_790_000_000_000_000 };
pub const UID: &str = "11111111-1111-4111-8111-111111111111";
pub const UID2: &str = "22222222-2222-4222-8222-222222222222";

pub struct FlowFixture {
    pub ledger: Ledger,
    pub now: DbTimestamp,
    ids: u32,
    pub namespace: TenantNamespace,
    pub user: ClusterUser,
    /// Changes that write the tenant, until a decision commits them.
    pub tenant_changes: Vec<RowChange>,
    pub instance: EngineInstance,
    pub used_by: BTreeSet<EngineInstanceId>,
    /// All Argo CD instances, for removals without a known instance.
    pub instances: BTreeSet<EngineInstanceId>,
    pub own: ManagedEnvironmentId,
}

impl FlowFixture {
    /// Creates one Argo CD instance and one tenant.
    pub async fn new() -> FlowFixture {
        let ledger =
            Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let namespace = TenantNamespace { name: "shop".into(), uid: "shop-uid".into() };
        let mut ids = 0;
        let mut id = || {
            ids += 1;
            format!("id{ids}")
        };
        let (user, mut changes) = tenant::user(None, &namespace, || UserId::from("tenant"), START);
        let (own, more) = tenant::own_environment(None, &namespace, &mut id, START);
        changes.extend(more);
        let engine = EngineCluster { id: "ec".into(), credentials: "id1".into() };
        let instance = EngineInstance {
            id: "ei".into(),
            namespace: "argocd".into(),
            namespace_uid: "argocd-uid".into(),
            cluster: "ec".into(),
        };
        changes.extend([RowChange::insert(&engine), RowChange::insert(&instance)]);
        ledger.commit(&changes).await.unwrap();
        FlowFixture {
            ledger,
            now: START,
            ids: 100,
            namespace,
            user,
            tenant_changes: Vec::new(),
            instance,
            used_by: BTreeSet::new(),
            instances: BTreeSet::new(),
            own,
        }
    }

    pub async fn all<R: Row>(&self) -> Vec<R> {
        self.ledger.list(&Filter::all()).await.unwrap()
    }

    pub fn ids(&mut self) -> impl FnMut() -> String + use<> {
        let next = &mut self.ids;
        let first = *next;
        *next += 100;
        let mut at = first;
        move || {
            at += 1;
            format!("id{at}")
        }
    }

    /// Returns the rows of all deployments with this name.
    pub async fn rows_of(&self, name: &str) -> Vec<DeploymentRows> {
        let mappings = Filter::all().is("name", name).is("namespace_uid", &self.namespace.uid);
        let mut known = Vec::new();
        for mapping in self.ledger.list::<DeploymentToApplication>(&mappings).await.unwrap() {
            let of = |column| Filter::all().is(column, &mapping.application);
            known.push(DeploymentRows {
                application: self.ledger.get(&RowKey::from(&mapping.application)).await.unwrap(),
                state: self.ledger.get(&RowKey::from(&mapping.application)).await.unwrap(),
                owners: self.ledger.list(&of("application_owner_application_id")).await.unwrap(),
                syncs: self.ledger.list(&of("application_id")).await.unwrap(),
                mapping,
            });
        }
        known
    }

    /// Decides on a deployment and commits. Without `environment`, the tenant's own namespace is used.
    pub async fn decide(
        &mut self,
        name: &str,
        resource: Option<&GitOpsDeployment>,
        environment: Option<TargetEnvironment<'_>>,
    ) -> ReconcileResult {
        let known = self.rows_of(name).await;
        let (operations, repositories) = (self.all().await, self.all().await);
        let live = resource.filter(|d| !d.metadata.is_deleted());
        let wanted: BTreeSet<String> = live.iter().map(|d| normalize(&d.spec.source.repo_url)).collect();
        let mut id = self.ids();
        let decision = deployment::decide(
            &deployment::DeploymentInput {
                now: DecisionTime { timestamp: self.now, text: "2026-11-16T08:00:00Z" },
                namespace: &self.namespace,
                user: &self.user,
                tenant_changes: &self.tenant_changes,
                deployment: resource,
                rows: &known,
                environment: environment.unwrap_or(TargetEnvironment::OwnNamespace(&self.own)),
                instance: &self.instance,
                target_changes: &[],
                operations: &operations,
                instances: &self.instances,
                repositories: &repositories,
                wanted_repositories: &wanted,
                compared_environment: None,
                isolated: true,
            },
            &mut id,
        );
        self.ledger.commit(&decision.changes).await.unwrap();
        decision
    }

    /// Finishes all open Operations, like the agent.
    pub async fn complete(&self, result: Result<(), &str>) {
        for row in self.all::<Operation>().await.iter().filter(|row| row.state == OperationState::Waiting) {
            let changes = crate::operation::finish(std::slice::from_ref(row), row, self.now, result, self.now);
            self.ledger.commit(&changes).await.unwrap();
        }
    }
}

/// Returns a deployment to the tenant's own namespace.
pub fn web(uid: &str) -> GitOpsDeployment {
    GitOpsDeployment {
        metadata: ObjectMeta::new("shop", "web", uid),
        spec: DeploymentSpec {
            source: DeploymentSource {
                repo_url: "https://git.example/Shop/web.git".into(),
                path: "deploy".into(),
                target_revision: "main".into(),
            },
            destination: DeploymentDestination::default(),
            sync_policy: None,
            r#type: "automated".into(),
        },
        status: Default::default(),
    }
}

/// Returns the status that a decision writes.
pub fn status(decision: &ReconcileResult) -> Option<&Value> {
    decision.writes.iter().find_map(|write| match write {
        KubernetesWrite::Status(_, status) => Some(status),
        _ => None,
    })
}
