//! A database in memory in which decisions are carried out, so that what is decided is also what a database takes.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_ledger::ids::*;
use switchboard_ledger::rows::*;
use switchboard_ledger::{Address, Change, Filter, Key, Ledger, Moment, Row, Sealing};

use crate::flow::deployment::{self, Environment, Known};
use crate::flow::tenant::{self, Namespace};
use crate::flow::{Decision, Now, Write};
use crate::kinds::deployment::{DeploymentSpec, Destination, Source};
use crate::kinds::{Deployment, Meta};
use crate::repository::normalise;

pub const START: Moment = Moment { unix_us: 1_790_000_000_000_000 };
pub const UID: &str = "11111111-1111-4111-8111-111111111111";
pub const UID2: &str = "22222222-2222-4222-8222-222222222222";

pub struct World {
    pub ledger: Ledger,
    pub now: Moment,
    ids: u32,
    pub namespace: Namespace,
    pub user: ClusterUser,
    pub instance: EngineInstance,
    pub used_by: BTreeSet<EngineInstanceId>,
    /// Every Argo CD, where nothing says which it was.
    pub asked: BTreeSet<EngineInstanceId>,
    pub own: ManagedEnvironmentId,
}

impl World {
    /// One Argo CD, one tenant.
    pub async fn new() -> World {
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let namespace = Namespace { name: "shop".into(), uid: "shop-uid".into() };
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
        changes.extend([Change::insert(&engine), Change::insert(&instance)]);
        ledger.commit(&changes).await.unwrap();
        World {
            ledger,
            now: START,
            ids: 100,
            namespace,
            user,
            instance,
            used_by: BTreeSet::new(),
            asked: BTreeSet::new(),
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

    /// Everything the database knows of deployments of this name.
    pub async fn known(&self, name: &str) -> Vec<Known> {
        let mappings = Filter::all().is("name", name).is("namespace_uid", &self.namespace.uid);
        let mut known = Vec::new();
        for mapping in self.ledger.list::<DeploymentToApplication>(&mappings).await.unwrap() {
            let of = |column| Filter::all().is(column, &mapping.application);
            known.push(Known {
                application: self.ledger.get(&Key::from(&mapping.application)).await.unwrap(),
                state: self.ledger.get(&Key::from(&mapping.application)).await.unwrap(),
                owners: self.ledger.list(&of("application_owner_application_id")).await.unwrap(),
                syncs: self.ledger.list(&of("application_id")).await.unwrap(),
                mapping,
            });
        }
        known
    }

    /// Decides on the deployment of this name and commits; `environment` is where it should go, its own namespace if none.
    pub async fn decide(
        &mut self,
        name: &str,
        resource: Option<&Deployment>,
        environment: Option<Environment<'_>>,
    ) -> Decision {
        let known = self.known(name).await;
        let (operations, repositories) = (self.all().await, self.all().await);
        let live = resource.filter(|d| !d.metadata.is_deleted());
        let wanted: BTreeSet<String> = live.iter().map(|d| normalise(&d.spec.source.repo_url)).collect();
        let mut id = self.ids();
        let decision = deployment::decide(
            &deployment::Input {
                now: Now { moment: self.now, text: "2026-11-16T08:00:00Z" },
                namespace: &self.namespace,
                user: &self.user,
                is_tenant: true,
                deployment: resource,
                known: &known,
                environment: environment.unwrap_or(Environment::Own(&self.own)),
                instance: &self.instance,
                operations: &operations,
                instances: &self.asked,
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

    /// The agent says that it is done with all that is open.
    pub async fn complete(&self, result: Result<(), &str>) {
        for row in self.all::<Operation>().await.iter().filter(|row| row.state == OperationState::Waiting) {
            let changes = crate::flow::operation::finish(std::slice::from_ref(row), row, self.now, result, self.now);
            self.ledger.commit(&changes).await.unwrap();
        }
    }
}

/// A deployment of the tenant's own namespace.
pub fn web(uid: &str) -> Deployment {
    Deployment {
        metadata: Meta::named("shop", "web", uid),
        spec: DeploymentSpec {
            source: Source {
                repo_url: "https://git.example/Shop/web.git".into(),
                path: "deploy".into(),
                target_revision: "main".into(),
            },
            destination: Destination::default(),
            sync_policy: None,
            r#type: "automated".into(),
        },
        status: Default::default(),
    }
}

/// The status that a decision writes.
pub fn status(decision: &Decision) -> Option<&Value> {
    decision.writes.iter().find_map(|write| match write {
        Write::Status(_, status) => Some(status),
        _ => None,
    })
}
