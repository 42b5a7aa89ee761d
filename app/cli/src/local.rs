//! Pods as local processes: the embedded cluster runs none, so `up` runs those whose image is mapped to a command.
//!
//! ```text
//! watch of pods ─┐
//!                ├─▶ look: plan (pure) ─▶ start, stop ─▶ status of the pod, where it listens
//! a process ends ┘
//! ```
//!
//! Who may write pods chooses which of the mapped commands run, and never another one.

mod pod;
mod process;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::talk::say;

pub use pod::Commands;
use pod::{Act, ended_status, plan, running_status};
use process::{Ended, Process};

/// How many processes may end before anybody looks.
const MAX_PENDING_ENDS: usize = 64;
/// The wait before a watch that broke off is begun again.
const WATCH_AGAIN: Duration = Duration::from_secs(1);

/// Local processes in place of pods, until it is stopped.
pub struct Local {
    task: JoinHandle<()>,
    stop: mpsc::Sender<Ended>,
}

impl Local {
    /// Runs the pods of a cluster whose images are mapped; nothing when none is.
    pub fn start(client: kube::Client, commands: Commands) -> Option<Self> {
        if commands.is_empty() {
            return None;
        }
        let (sender, ends) = mpsc::channel(MAX_PENDING_ENDS);
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
        };
        let machine = Machine { client, resource, commands, processes: BTreeMap::new(), ended: sender.clone() };
        Some(Self { task: tokio::spawn(machine.run(ends)), stop: sender })
    }

    /// Ends all processes.
    pub async fn stop(self) {
        let _ = self.stop.send(Ended::All).await;
        // It ends by itself; one that panicked has said so.
        let _ = self.task.await;
    }
}

struct Machine {
    client: kube::Client,
    resource: ApiResource,
    commands: Commands,
    /// By the uid of their pod.
    processes: BTreeMap<String, Process>,
    ended: mpsc::Sender<Ended>,
}

impl Machine {
    async fn run(mut self, mut ends: mpsc::Receiver<Ended>) {
        loop {
            let pods: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
            let Ok(list) = pods.list(&ListParams::default()).await else {
                if stopped_meanwhile(&mut ends).await {
                    break;
                }
                continue;
            };
            self.look(&values(&list.items)).await;
            let from = list.metadata.resource_version.unwrap_or_default();
            let Ok(watch) = pods.watch(&WatchParams::default(), &from).await else {
                if stopped_meanwhile(&mut ends).await {
                    break;
                }
                continue;
            };
            if self.follow(watch.boxed(), &mut ends).await {
                break;
            }
        }
        for (_, process) in std::mem::take(&mut self.processes) {
            process.end().await;
        }
    }

    /// Looks again whenever a pod changed or a process ended. True when it is to stop, false when the watch broke off.
    async fn follow(
        &mut self,
        mut watch: futures::stream::BoxStream<'_, kube::Result<WatchEvent<DynamicObject>>>,
        ends: &mut mpsc::Receiver<Ended>,
    ) -> bool {
        loop {
            tokio::select! {
                event = watch.next() => match event {
                    Some(Ok(WatchEvent::Bookmark(_))) => {}
                    Some(Ok(WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_))) => {
                        let pods: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
                        if let Ok(list) = pods.list(&ListParams::default()).await {
                            self.look(&values(&list.items)).await;
                        }
                    }
                    Some(_) | None => return false,
                },
                ended = ends.recv() => match ended {
                    Some(Ended::One { uid, namespace, name, how }) => {
                        if self.processes.remove(&uid).is_some() {
                            say(format_args!("{namespace}/{name} ended: {}", how.words));
                            self.status(&namespace, &name, ended_status(&how)).await;
                        }
                    }
                    Some(Ended::All) | None => return true,
                },
            }
        }
    }

    async fn look(&mut self, pods: &[Value]) {
        for act in plan(pods, &self.processes.keys().cloned().collect(), &self.commands) {
            match act {
                Act::Stop { uid } => {
                    if let Some(process) = self.processes.remove(&uid) {
                        process.end().await;
                    }
                }
                Act::Start { uid, namespace, name, command, env } => {
                    let started = Process::start(
                        &uid,
                        &namespace,
                        &name,
                        &command,
                        &self.commands.folder,
                        &env,
                        self.ended.clone(),
                    )
                    .await;
                    let process = match started {
                        Ok(process) => process,
                        Err(error) => {
                            say(format_args!("warning: could not run {} for {namespace}/{name}: {error}", command[0]));
                            let how =
                                process::How { words: format!("could not run {}: {error}", command[0]), well: false };
                            self.status(&namespace, &name, ended_status(&how)).await;
                            continue;
                        }
                    };
                    say(format_args!("{namespace}/{name} runs as {} at {}", command[0], process.address));
                    self.patch(&namespace, &name, pod::address(&process.address)).await;
                    self.status(&namespace, &name, running_status(&command[0], jiff::Timestamp::now())).await;
                    self.processes.insert(uid, process);
                }
            }
        }
    }

    async fn patch(&self, namespace: &str, name: &str, body: Value) {
        let pods: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &self.resource);
        if let Err(error) = pods.patch(name, &PatchParams::default(), &Patch::Merge(&body)).await {
            say(format_args!("warning: could not write where {namespace}/{name} listens: {error}"));
        }
    }

    async fn status(&self, namespace: &str, name: &str, body: Value) {
        let pods: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &self.resource);
        // The pod may be gone by now.
        let _ = pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&body)).await;
    }
}

fn values(pods: &[DynamicObject]) -> Vec<Value> {
    pods.iter().filter_map(|pod| serde_json::to_value(pod).ok()).collect()
}

/// Waits a while before the cluster is asked again; true when it is to stop.
async fn stopped_meanwhile(ends: &mut mpsc::Receiver<Ended>) -> bool {
    match tokio::time::timeout(WATCH_AGAIN, ends.recv()).await {
        Ok(Some(Ended::One { .. })) | Err(_) => false,
        Ok(Some(Ended::All) | None) => true,
    }
}
