//! Two instances as maps of objects, a database in memory, and somebody who carries a move and is killed now and then.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_ledger::ids::*;
use switchboard_ledger::rows::fleet::*;
use switchboard_ledger::rows::*;
use switchboard_ledger::{Address, Change, Filter, Ledger, Moment, Row, Sealing};

use crate::argo::application::{self, REFRESH};
use crate::argo::spec_field::{Wanted, write};
use crate::argo::{DATABASE_ID, project};
use crate::fleet::moving::{self, Act, Next, Scene, is_held_by};
use crate::flow::operation::{Wish, row};
use crate::flow::tenant::{self, Namespace};

pub const START: Moment = Moment { unix_us: 1_790_000_000_000_000 };
pub const UIDS: [&str; 2] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];

/// How many rounds a move may take.
const MAX_ROUNDS: usize = 200;

type Name = (String, String, String);

pub struct Field {
    pub ledger: Ledger,
    pub objects: BTreeMap<Name, Value>,
    pub now: Moment,
    version: u64,
    /// What was done, in words, to compare and to count.
    pub done: Vec<String>,
    /// After so many acts and commits whoever carries the move is killed, once.
    pub kill_after: Option<usize>,
    /// Whether the target compares what it is given.
    pub target_lives: bool,
    /// Where the tenant's project lets it deploy to.
    pub own: &'static str,
}

impl Field {
    /// Two instances `one` and `two`; a tenant with two Applications on `one`, which has deployed both.
    pub async fn new() -> Field {
        let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
        ledger.migrate().await.unwrap();
        let namespace = Namespace { name: "shop".into(), uid: "shop-uid".into() };
        let mut ids = 0;
        let id = || {
            ids += 1;
            format!("id{ids}")
        };
        let (user, mut changes) = tenant::user(None, &namespace, || UserId::from("tenant"), START);
        let (own, more) = tenant::own_environment(None, &namespace, id, START);
        changes.extend(more);
        changes.push(Change::insert(&EngineCluster { id: "ec".into(), credentials: "id1".into() }));
        for name in ["one", "two"] {
            changes.push(Change::insert(&EngineInstance {
                id: name.into(),
                namespace: format!("argocd-{name}"),
                namespace_uid: name.into(),
                cluster: "ec".into(),
            }));
        }
        changes.push(tenant::access(&user.id, &own, &"one".into(), START));
        changes.push(Change::insert(&Placement {
            user: user.id.clone(),
            environment: own.clone(),
            instance: "one".into(),
            epoch: 1,
            moving: None,
            created_on: START,
        }));
        let mut field = Field {
            ledger,
            objects: BTreeMap::new(),
            now: START,
            version: 0,
            done: vec![],
            kill_after: None,
            target_lives: true,
            own: "shop",
        };
        for uid in UIDS {
            let row = application_row(uid, &own);
            field.put(application::object(&row, "argocd-one").unwrap());
            changes.push(Change::insert(&row));
        }
        field.put(project("argocd-one", field.own));
        field.ledger.commit(&changes).await.unwrap();
        field.argo_works();
        field
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
        let of = |name: &&Name| name.0 == "Application" && name.1 == namespace;
        self.objects.keys().filter(of).map(|name| self.objects[name].clone()).collect()
    }

    /// What Argo CD does with Applications that are awake: it compares when it is asked.
    pub fn argo_works(&mut self) {
        for name in self.objects.keys().filter(|name| name.0 == "Application").cloned().collect::<Vec<_>>() {
            let mut object = self.objects[&name].clone();
            let asleep = object["metadata"]["annotations"]["argocd.argoproj.io/skip-reconcile"] == "true";
            if asleep || (name.1 == "argocd-two" && !self.target_lives) {
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
        let (_, changes) = moving::begin(&self.placement().await, &"two".into(), "m".into(), self.now).unwrap();
        self.ledger.commit(&changes).await.unwrap();
    }

    /// Asks for a look at an Application, as the backend would.
    pub async fn ask(&self, id: &str, application: &str, state: OperationState) {
        let wish = Wish {
            instance: &"one".into(),
            resource: OperationResource::Application,
            resource_id: application,
            owner: &"tenant".into(),
        };
        let row = Operation { state, ..row(&wish, id.into(), self.now) };
        self.ledger.commit(&[Change::insert(&row)]).await.unwrap();
    }

    /// One round: gathers, asks, does. Answers false when it is over.
    pub async fn round(&mut self) -> bool {
        let next = self.next().await;
        self.now = self.now.plus_ms(1000);
        match next {
            Next::Over => return false,
            Next::Wait(..) => {}
            Next::Commit(changes) => {
                self.ledger.commit(&changes).await.unwrap();
                self.done.push(format!("commit of {}", changes.len()));
                self.is_killed();
            }
            Next::Act(acts) => {
                for act in acts {
                    self.act(act);
                    if self.is_killed() {
                        break;
                    }
                }
            }
        }
        self.argo_works();
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

    pub async fn next(&self) -> Next {
        let (row, placement) = (self.move_row().await, self.placement().await);
        let instances: Vec<EngineInstance> = self.all().await;
        let applications: Vec<Application> = self.all().await;
        let (operations, access): (Vec<Operation>, Vec<ClusterAccess>) = (self.all().await, self.all().await);
        let of = |object: &Value| {
            let id = object["metadata"]["labels"][DATABASE_ID].as_str().unwrap_or_default();
            applications.iter().any(|row| row.id.as_str() == id) || is_held_by(object, &row.id)
        };
        let at = |namespace: &str| -> Vec<Value> { self.applications(namespace).into_iter().filter(&of).collect() };
        let projects = |namespace: &str| -> Vec<Value> {
            self.objects
                .get(&("AppProject".into(), namespace.into(), "app-project-tenant".into()))
                .cloned()
                .into_iter()
                .collect()
        };
        moving::next(&Scene {
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
            needs: &[project("argocd-two", self.own)],
            has: &projects("argocd-two"),
            leftovers: &projects("argocd-one"),
            in_use: 0,
            prepared: &projects("argocd-two"),
        })
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Create(object) => {
                self.done.push(format!("create {:?}", name_of(&object)));
                if !self.objects.contains_key(&name_of(&object)) {
                    self.put(object);
                }
            }
            Act::Update(object) => {
                self.done.push(format!("update {:?}", name_of(&object)));
                let live = &self.objects[&name_of(&object)];
                assert_eq!(live["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"]);
                self.put(object);
            }
            Act::Forget { target, uid, version } => {
                let name = (target.kind.to_string(), target.namespace, target.name);
                self.done.push(format!("forget {name:?}"));
                let live = &self.objects[&name];
                assert_eq!(
                    (&live["metadata"]["uid"], &live["metadata"]["resourceVersion"]),
                    (&json!(uid), &json!(version))
                );
                self.forgotten(&name);
                self.objects.remove(&name);
            }
        }
    }

    /// What must hold whenever an Application goes.
    fn forgotten(&self, name: &Name) {
        if name.0 != "Application" {
            return;
        }
        let live = &self.objects[name];
        assert!(live["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty), "{live}");
        let other = if name.1 == "argocd-one" { "argocd-two" } else { "argocd-one" };
        let copy = self.objects.get(&(name.0.clone(), other.to_string(), name.2.clone()));
        assert!(copy.is_some(), "{name:?} goes, and nowhere is a copy");
    }
}

pub fn application_row(uid: &str, environment: &ManagedEnvironmentId) -> Application {
    let name = format!("gitopsdepl-{uid}");
    Application {
        id: format!("app-{}", &uid[..4]).into(),
        spec_field: write(&Wanted {
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

fn name_of(object: &Value) -> Name {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
    (object["kind"].as_str().unwrap().to_string(), text("namespace"), text("name"))
}
