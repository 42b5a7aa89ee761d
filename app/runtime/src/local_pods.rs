//! Pods as local processes: the embedded cluster has no kubelet, so `up` runs pods whose image is mapped to a command.
//!
//! ```text
//! watch of pods ─┐
//!                ├─▶ plan (pure) ─▶ start, stop ─▶ status of the pod, listen address
//! process exit  ─┘
//! ```
//!
//! A user who may write pods selects which of the mapped commands run, but cannot run any other command.

mod pod;
mod process;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::stderr::print_stderr;

pub use pod::ImageCommands;
use pod::{PodAction, ended_status, plan, running_status};
use process::{LocalProcess, ProcessEvent};

/// Capacity of the queue of process exits.
const MAX_PENDING_ENDS: usize = 64;
/// Delay before a broken watch is started again.
const WATCH_AGAIN: Duration = Duration::from_secs(1);

/// Runner of local processes for pods.
pub struct LocalPods {
    task: JoinHandle<()>,
    stop: mpsc::Sender<ProcessEvent>,
}

impl LocalPods {
    /// Starts the runner for the pods of a cluster; `None` if no image is mapped.
    pub fn start(client: kube::Client, commands: ImageCommands) -> Option<Self> {
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
        let machine = PodRunner { client, resource, commands, processes: BTreeMap::new(), ended: sender.clone() };
        Some(Self { task: tokio::spawn(machine.run(ends)), stop: sender })
    }

    /// Ends all processes.
    pub async fn stop(self) {
        let _ = self.stop.send(ProcessEvent::Shutdown).await;
        // The task ends by itself; a panic is already printed.
        let _ = self.task.await;
    }
}

struct PodRunner {
    client: kube::Client,
    resource: ApiResource,
    commands: ImageCommands,
    /// Processes by the uid of their pod.
    processes: BTreeMap<String, LocalProcess>,
    ended: mpsc::Sender<ProcessEvent>,
}

impl PodRunner {
    async fn run(mut self, mut ends: mpsc::Receiver<ProcessEvent>) {
        loop {
            let pods: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
            let Ok(list) = pods.list(&ListParams::default()).await else {
                if stopped_meanwhile(&mut ends).await {
                    break;
                }
                continue;
            };
            self.reconcile(&values(&list.items)).await;
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

    /// Reconciles on every change of a pod or exit of a process. Returns true on shutdown, and false if the watch
    /// broke.
    async fn follow(
        &mut self,
        mut watch: futures::stream::BoxStream<'_, kube::Result<WatchEvent<DynamicObject>>>,
        ends: &mut mpsc::Receiver<ProcessEvent>,
    ) -> bool {
        loop {
            tokio::select! {
                event = watch.next() => match event {
                    Some(Ok(WatchEvent::Bookmark(_))) => {}
                    Some(Ok(WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_))) => {
                        let pods: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
                        if let Ok(list) = pods.list(&ListParams::default()).await {
                            self.reconcile(&values(&list.items)).await;
                        }
                    }
                    Some(_) | None => return false,
                },
                ended = ends.recv() => match ended {
                    Some(ProcessEvent::Exited { uid, namespace, name, exit }) => {
                        if self.processes.remove(&uid).is_some() {
                            print_stderr(format_args!("{namespace}/{name} ended: {}", exit.message));
                            self.status(&namespace, &name, ended_status(&exit)).await;
                        }
                    }
                    Some(ProcessEvent::Shutdown) | None => return true,
                },
            }
        }
    }

    async fn reconcile(&mut self, pods: &[Value]) {
        for act in plan(pods, &self.processes.keys().cloned().collect(), &self.commands) {
            match act {
                PodAction::Stop { uid } => {
                    if let Some(process) = self.processes.remove(&uid) {
                        process.end().await;
                    }
                }
                PodAction::Start { uid, namespace, name, command, env } => {
                    let started = LocalProcess::start(
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
                            print_stderr(format_args!(
                                "warning: could not run {} for {namespace}/{name}: {error}",
                                command[0]
                            ));
                            let exit = process::ProcessExit {
                                message: format!("could not run {}: {error}", command[0]),
                                success: false,
                            };
                            self.status(&namespace, &name, ended_status(&exit)).await;
                            continue;
                        }
                    };
                    print_stderr(format_args!("{namespace}/{name} runs as {} at {}", command[0], process.address));
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
            print_stderr(format_args!("warning: could not write the listen address of {namespace}/{name}: {error}"));
        }
    }

    async fn status(&self, namespace: &str, name: &str, body: Value) {
        let pods: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &self.resource);
        // The pod may be deleted by now.
        let _ = pods.patch_status(name, &PatchParams::default(), &Patch::Merge(&body)).await;
    }
}

fn values(pods: &[DynamicObject]) -> Vec<Value> {
    pods.iter().filter_map(|pod| serde_json::to_value(pod).ok()).collect()
}

/// Waits before the cluster is queried again; returns true on shutdown.
async fn stopped_meanwhile(ends: &mut mpsc::Receiver<ProcessEvent>) -> bool {
    match tokio::time::timeout(WATCH_AGAIN, ends.recv()).await {
        Ok(Some(ProcessEvent::Exited { .. })) | Err(_) => false,
        Ok(Some(ProcessEvent::Shutdown) | None) => true,
    }
}
