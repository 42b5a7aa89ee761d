//! The embedded cluster behind a connection that loses answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_kernel::applier::{Answer, KubeWriter, WriteRequest, Writer};
use switchboard_kernel::decision::{Write, WriteResult};
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::plan::{Mutation, PatchForm};
use switchboard_kernel::resource::ObjectKey;

use super::acts::Case;

/// What happens to a write on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is done, and the answer is lost.
    Done,
    /// It does not arrive, and nobody says so.
    NotDone,
    /// It does not arrive, and somebody else writes meanwhile.
    NotDoneAndMeddled,
    /// The server asks to come again later.
    Refused,
}

pub struct Faulty {
    // Holds the cluster up.
    _cluster: Cluster,
    writer: KubeWriter,
    faults: Mutex<VecDeque<Fault>>,
    effects: Mutex<u32>,
}

impl Faulty {
    pub async fn new() -> Self {
        let cluster = Cluster::ephemeral().await;
        let writer = KubeWriter::new(BTreeMap::from([(ClusterName::new("home"), cluster.client())]));
        Self { _cluster: cluster, writer, faults: Mutex::default(), effects: Mutex::default() }
    }

    /// The next writes meet these faults, those behind them none.
    pub fn plan(&self, faults: &[Fault]) {
        self.faults.lock().unwrap().extend(faults);
    }

    /// How many writes that were carried out changed an object.
    pub fn effects(&self) -> u32 {
        *self.effects.lock().unwrap()
    }

    pub async fn object(&self, key: &ObjectKey) -> Option<Value> {
        self.writer.get(key).await.unwrap()
    }

    /// Makes the object of a case; gives it as it is then.
    pub async fn set_up(&self, case: &Case) -> Option<Value> {
        let start = case.start.clone()?;
        self.send_as_somebody(Mutation::create(&case.resource, start), &case.key()).await;
        self.object(&case.key()).await
    }

    /// Somebody else sets a label.
    pub async fn meddle(&self, key: &ObjectKey) {
        let label = json!({ "metadata": { "labels": { "meddled": "yes" } } });
        let patch = Mutation::patch(&key.table.resource, &key.namespace, &key.name, PatchForm::Merge, label);
        self.send_as_somebody(patch, key).await;
    }

    /// Somebody else deletes the object and makes it anew.
    pub async fn made_anew(&self, case: &Case) {
        let key = case.key();
        let free = json!({ "metadata": { "finalizers": null } });
        let patch = Mutation::patch(&case.resource, &key.namespace, &key.name, PatchForm::Merge, free);
        self.send_as_somebody(patch, &key).await;
        self.send_as_somebody(Mutation::delete(&case.resource, &key.namespace, &key.name), &key).await;
        self.set_up(case).await.unwrap();
    }

    async fn send_as_somebody(&self, mutation: Mutation, key: &ObjectKey) {
        let write = Write { mutation: mutation.regardless(), object: key.clone(), result: WriteResult::Skipped };
        let request = WriteRequest { write, user: None, manager: "somebody".to_string(), dry_run: false };
        let answer = self.writer.send(&request).await;
        assert!(matches!(answer, Answer::Done { .. }), "{answer:?}");
    }

    async fn carry(&self, request: &WriteRequest) -> Answer {
        let before = self.object(&request.write.object).await;
        let answer = self.writer.send(request).await;
        if self.object(&request.write.object).await != before {
            *self.effects.lock().unwrap() += 1;
        }
        answer
    }

    async fn send(&self, request: &WriteRequest) -> Answer {
        let fault = self.faults.lock().unwrap().pop_front();
        match fault {
            None => return self.carry(request).await,
            Some(Fault::Done) => drop(self.carry(request).await),
            Some(Fault::NotDone) => {}
            Some(Fault::NotDoneAndMeddled) => self.meddle(&request.write.object).await,
            Some(Fault::Refused) => {
                let (reason, message) = ("TooManyRequests".to_string(), "come again later".to_string());
                return Answer::Refused { code: 429, reason, message, retry_after: Some(Duration::from_secs(3600)) };
            }
        }
        Answer::Unknown { message: "the connection was cut".to_string() }
    }
}

impl Writer for Faulty {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, Answer> {
        self.send(request).boxed()
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        self.writer.get(key)
    }

    fn wait(&self, _: Duration) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
