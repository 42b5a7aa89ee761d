//! Fixture: two instances as maps of objects, an in-memory database, and a move that can be interrupted.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_sql::{Address, DbTimestamp, Filter, Ledger, Row, RowChange, Sealer};

use crate::argocd::DATABASE_ID;
use crate::deployment::application::{self, REFRESH};
use crate::deployment::spec_field::{ApplicationSpec, write};
use crate::ids::*;
use crate::moves::{self, InstanceWrite, MoveAction, MoveState, is_paused_by};
use crate::operation::{OperationRequest, row};
use crate::rows::fleet::*;
use crate::rows::*;
use crate::tenant::{self, TenantNamespace, project};

pub const START: DbTimestamp = DbTimestamp { unix_us: 1_790_000_000_000_000 };
pub const UIDS: [&str; 2] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

/// Maximum number of rounds of a move.
const MAX_ROUNDS: usize = 200;

type ObjectName = (String, String, String);

pub struct FleetFixture {
    pub ledger: Ledger,
    pub objects: BTreeMap<ObjectName, Value>,
    pub now: DbTimestamp,
    version: u64,
    /// Descriptions of executed writes and commits, for comparison and counting.
    pub done: Vec<String>,
    /// Number of writes and commits after which the move is interrupted once.
    pub kill_after: Option<usize>,
    /// Whether the target compares its Applications.
    pub is_target_running: bool,
    /// Destination namespace of the tenant's project.
    pub own: &'static str,
}

impl FleetFixture {
    /// Creates the instances `one` and `two`, and a tenant with two deployed Applications on `one`.
    pub async fn new() -> FleetFixture {
        let ledger =
            Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let namespace = TenantNamespace { name: "shop".into(), uid: "shop-uid".into() };
        let mut ids = 0;
        let id = || {
            ids += 1;
            format!("id{ids}")
        };
        let (user, mut changes) = tenant::user(None, &namespace, || UserId::from("tenant"), START);
        let (own, more) = tenant::own_environment(None, &namespace, id, START);
        changes.extend(more);
        changes.push(RowChange::insert(&EngineCluster { id: "ec".into(), credentials: "id1".into() }));
        for name in ["one", "two"] {
            changes.push(RowChange::insert(&EngineInstance {
                id: name.into(),
                namespace: format!("argocd-{name}"),
                namespace_uid: name.into(),
                cluster: "ec".into(),
            }));
        }
        changes.push(tenant::access(&user.id, &own, &"one".into(), START));
        changes.push(RowChange::insert(&Placement {
            user: user.id.clone(),
            environment: own.clone(),
            instance: "one".into(),
            epoch: 1,
            moving: None,
            created_on: START,
        }));
        let mut fixture = FleetFixture {
            ledger,
            objects: BTreeMap::new(),
            now: START,
            version: 0,
            done: vec![],
            kill_after: None,
            is_target_running: true,
            own: "shop",
        };
        for uid in UIDS {
            let row = application_row(uid, &own);
            fixture.put(application::object(&row, "argocd-one").unwrap());
            changes.push(RowChange::insert(&row));
        }
        fixture.put(project("argocd-one", fixture.own));
        fixture.ledger.commit(&changes).await.unwrap();
        fixture.run_argo_cd();
        fixture
    }

    pub fn put(&mut self, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"].get("uid").is_none() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        self.objects.insert(name_of(&object), object);
    }

    pub fn application(&self, namespace: &str, uid: &str) -> Option<&Value> {
        self.objects.get(&("Application".into(), namespace.into(), format!("gitopsdepl-{uid}")))
    }

    pub fn applications(&self, namespace: &str) -> Vec<Value> {
        let of = |name: &&ObjectName| name.0 == "Application" && name.1 == namespace;
        self.objects.keys().filter(of).map(|name| self.objects[name].clone()).collect()
    }

    /// Simulates Argo CD: compares Applications that are not paused when a refresh is requested.
    pub fn run_argo_cd(&mut self) {
        for name in self.objects.keys().filter(|name| name.0 == "Application").cloned().collect::<Vec<_>>() {
            let mut object = self.objects[&name].clone();
            let asleep = object["metadata"]["annotations"]["argocd.argoproj.io/skip-reconcile"] == "true";
            if asleep || (name.1 == "argocd-two" && !self.is_target_running) {
                continue;
            }
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.remove(REFRESH);
            }
            object["status"]["sync"]["status"] = json!("Synced");
            if object != self.objects[&name] {
                self.put(object);
            }
        }
    }

    pub async fn all<R: Row>(&self) -> Vec<R> {
        self.ledger.list(&Filter::all()).await.unwrap()
    }

    pub async fn placement(&self) -> Placement {
        self.all().await.pop().unwrap()
    }

    pub async fn move_row(&self) -> Move {
        self.all().await.pop().unwrap()
    }

    pub async fn begin(&self) {
        let (_, changes) = moves::begin(&self.placement().await, &"two".into(), "m".into(), self.now).unwrap();
        self.ledger.commit(&changes).await.unwrap();
    }

    /// Requests an Operation about an Application, like the backend.
    pub async fn request_operation(&self, id: &str, application: &str, state: OperationState) {
        let wish = OperationRequest {
            instance: &"one".into(),
            resource: OperationResource::Application,
            resource_id: application,
            owner: &"tenant".into(),
        };
        let row = Operation { state, ..row(&wish, id.into(), self.now) };
        self.ledger.commit(&[RowChange::insert(&row)]).await.unwrap();
    }

    /// Runs one round: collects the state and executes the next action. Returns false if the move has finished.
    pub async fn round(&mut self) -> bool {
        let next = self.next().await;
        self.now = self.now.plus_ms(1000);
        match next {
            MoveAction::Finished => return false,
            MoveAction::Wait(..) => {}
            MoveAction::Commit(changes) => {
                self.ledger.commit(&changes).await.unwrap();
                self.done.push(format!("commit of {}", changes.len()));
                self.is_killed();
            }
            MoveAction::Write(acts) => {
                for act in acts {
                    self.act(act);
                    if self.is_killed() {
                        break;
                    }
                }
            }
        }
        self.run_argo_cd();
        true
    }

    pub async fn run(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !self.round().await {
                return;
            }
        }
        panic!("the move does not end: {:?}\n{:?}", self.move_row().await, self.done);
    }

    pub async fn run_to(&mut self, step: MoveStep) {
        for _ in 0..MAX_ROUNDS {
            if self.move_row().await.step == step {
                return;
            }
            assert!(self.round().await, "over before {step:?}");
        }
        panic!("{step:?} is never reached: {:?}", self.move_row().await);
    }

    fn is_killed(&mut self) -> bool {
        if self.kill_after == Some(self.done.len()) {
            self.kill_after = None;
            return true;
        }
        false
    }

    pub async fn next(&self) -> MoveAction {
        let (row, placement) = (self.move_row().await, self.placement().await);
        let instances: Vec<EngineInstance> = self.all().await;
        let applications: Vec<Application> = self.all().await;
        let (operations, access): (Vec<Operation>, Vec<ClusterAccess>) = (self.all().await, self.all().await);
        let of = |object: &Value| {
            let id = object["metadata"]["labels"][DATABASE_ID].as_str().unwrap_or_default();
            applications.iter().any(|row| row.id.as_str() == id) || is_paused_by(object, &row.id)
        };
        let at = |namespace: &str| -> Vec<Value> { self.applications(namespace).into_iter().filter(&of).collect() };
        let projects = |namespace: &str| -> Vec<Value> {
            self.objects
                .get(&("AppProject".into(), namespace.into(), "app-project-tenant".into()))
                .cloned()
                .into_iter()
                .collect()
        };
        moves::next_action(&MoveState {
            now: self.now,
            row: &row,
            placement: &placement,
            source: instances.iter().find(|instance| instance.id == row.source),
            target: instances.iter().find(|instance| instance.id == row.target).unwrap(),
            applications: &applications,
            operations: &operations,
            access: &access,
            credentials: &self.all::<RepositoryCredentials>().await,
            at_source: &at("argocd-one"),
            at_target: &at("argocd-two"),
            required: &[project("argocd-two", self.own)],
            existing: &projects("argocd-two"),
            leftovers: &projects("argocd-one"),
            in_use: 0,
            prepared: &projects("argocd-two"),
        })
    }

    fn act(&mut self, act: InstanceWrite) {
        match act {
            InstanceWrite::Create(object) => {
                self.done.push(format!("create {:?}", name_of(&object)));
                if !self.objects.contains_key(&name_of(&object)) {
                    self.put(object);
                }
            }
            InstanceWrite::Update(object) => {
                self.done.push(format!("update {:?}", name_of(&object)));
                let live = &self.objects[&name_of(&object)];
                assert_eq!(live["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"]);
                self.put(object);
            }
            InstanceWrite::Delete { target, uid, version } => {
                let name = (target.kind.to_string(), target.namespace, target.name);
                self.done.push(format!("forget {name:?}"));
                let live = &self.objects[&name];
                assert_eq!(
                    (&live["metadata"]["uid"], &live["metadata"]["resourceVersion"]),
                    (&json!(uid), &json!(version))
                );
                self.assert_deletable(&name);
                self.objects.remove(&name);
            }
        }
    }

    /// Asserts the invariants of deleting an Application.
    fn assert_deletable(&self, name: &ObjectName) {
        if name.0 != "Application" {
            return;
        }
        let live = &self.objects[name];
        assert!(live["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty), "{live}");
        let other = if name.1 == "argocd-one" { "argocd-two" } else { "argocd-one" };
        let copy = self.objects.get(&(name.0.clone(), other.to_string(), name.2.clone()));
        assert!(copy.is_some(), "{name:?} is deleted without a copy");
    }
}

pub fn application_row(uid: &str, environment: &ManagedEnvironmentId) -> Application {
    let name = format!("gitopsdepl-{uid}");
    Application {
        id: format!("app-{}", &uid[..4]).into(),
        spec_field: write(&ApplicationSpec {
            name: &name,
            namespace: "argocd-one",
            destination_namespace: "shop",
            destination_name: "in-cluster",
            repo_url: "https://h/r",
            path: "p",
            target_revision: "main",
            sync_options: &[],
            automated: true,
            project: "app-project-tenant",
        }),
        name,
        instance: "one".into(),
        environment: Some(environment.clone()),
        created_on: START,
    }
}

fn project(namespace: &str, own: &str) -> Value {
    project::object(&"tenant".into(), namespace, &[], &[], &[own.to_string()])
}

fn name_of(object: &Value) -> ObjectName {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
    (object["kind"].as_str().unwrap().to_string(), text("namespace"), text("name"))
}
