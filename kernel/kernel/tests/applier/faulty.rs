//! Embedded cluster behind a connection that loses responses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_kernel::applier::{KubeWriter, WriteRequest, WriteResponse, Writer};
use switchboard_kernel::decision::{Write, WriteResult};
use switchboard_kernel::plan::{Mutation, PatchType};
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::topology::ClusterName;

use super::operations::WriteCase;

/// Fault of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The write is made, and the response is lost.
    Done,
    /// The request is lost.
    NotDone,
    /// The request is lost, and another client writes meanwhile.
    NotDoneAndOtherWrite,
    /// The server responds with 429.
    Refused,
}

pub struct FaultyConnection {
    // Keeps the cluster running.
    _cluster: Cluster,
    writer: KubeWriter,
    faults: Mutex<VecDeque<WriteFault>>,
    effects: Mutex<u32>,
}

impl FaultyConnection {
    pub async fn new() -> Self {
        let cluster = Cluster::ephemeral().await;
        let writer = KubeWriter::new(BTreeMap::from([(ClusterName::new("home"), cluster.client())]));
        Self { _cluster: cluster, writer, faults: Mutex::default(), effects: Mutex::default() }
    }

    /// Sets the faults of the next writes; later ones have none.
    pub fn plan(&self, faults: &[WriteFault]) {
        self.faults.lock().unwrap().extend(faults);
    }

    /// Returns how many writes changed an object.
    pub fn effects(&self) -> u32 {
        *self.effects.lock().unwrap()
    }

    pub async fn object(&self, key: &ObjectKey) -> Option<Value> {
        self.writer.get(key).await.unwrap()
    }

    /// Creates the object of a case, and returns it.
    pub async fn set_up(&self, case: &WriteCase) -> Option<Value> {
        let start = case.start.clone()?;
        self.send_as_other(Mutation::create(&case.resource, start), &case.key()).await;
        self.object(&case.key()).await
    }

    /// Sets a label as another client.
    pub async fn write_as_other(&self, key: &ObjectKey) {
        let label = json!({ "metadata": { "labels": { "meddled": "yes" } } });
        let patch = Mutation::patch(&key.table.resource, &key.namespace, &key.name, PatchType::Merge, label);
        self.send_as_other(patch, key).await;
    }

    /// Deletes and recreates the object as another client.
    pub async fn recreate(&self, case: &WriteCase) {
        let key = case.key();
        let free = json!({ "metadata": { "finalizers": null } });
        let patch = Mutation::patch(&case.resource, &key.namespace, &key.name, PatchType::Merge, free);
        self.send_as_other(patch, &key).await;
        self.send_as_other(Mutation::delete(&case.resource, &key.namespace, &key.name), &key).await;
        self.set_up(case).await.unwrap();
    }

    async fn send_as_other(&self, mutation: Mutation, key: &ObjectKey) {
        let write = Write { mutation: mutation.unconditional(), object: key.clone(), result: WriteResult::Skipped };
        let request = WriteRequest { write, user: None, manager: "other".to_string(), dry_run: false };
        let answer = self.writer.send(&request).await;
        assert!(matches!(answer, WriteResponse::Done { .. }), "{answer:?}");
    }

    async fn carry(&self, request: &WriteRequest) -> WriteResponse {
        let before = self.object(&request.write.object).await;
        let answer = self.writer.send(request).await;
        if self.object(&request.write.object).await != before {
            *self.effects.lock().unwrap() += 1;
        }
        answer
    }

    async fn send(&self, request: &WriteRequest) -> WriteResponse {
        let fault = self.faults.lock().unwrap().pop_front();
        match fault {
            None => return self.carry(request).await,
            Some(WriteFault::Done) => drop(self.carry(request).await),
            Some(WriteFault::NotDone) => {}
            Some(WriteFault::NotDoneAndOtherWrite) => self.write_as_other(&request.write.object).await,
            Some(WriteFault::Refused) => {
                let (reason, message) = ("TooManyRequests".to_string(), "come again later".to_string());
                return WriteResponse::Refused {
                    code: 429,
                    reason,
                    message,
                    retry_after: Some(Duration::from_secs(3600)),
                };
            }
        }
        WriteResponse::Unknown { message: "the connection was cut".to_string() }
    }
}

impl Writer for FaultyConnection {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, WriteResponse> {
        self.send(request).boxed()
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        self.writer.get(key)
    }

    fn wait(&self, _: Duration) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
