//! Kills the server fifty times under load, and checks all responses to its clients.
//!
//! In each life of the server, the test lists all objects, resumes the watches of the previous life, starts a watch
//! with initial events, writes over several connections, and kills the process with SIGKILL after a random number of
//! acknowledged writes. The history checker verifies the record of all lives.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, Preconditions, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use switchboard_suite::history::{History, HistoryEvent, HistoryWrite, ListSnapshot, WatchStream, WriteOutcome, check};
use switchboard_suite::process::{UpProcess, client};
use switchboard_suite::random::RandomNumbers;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const KILLS: u32 = 50;
const WRITERS: u64 = 8;
const RESUMED_WATCHERS: usize = 2;
const KEYS: u64 = 6;
/// Timeout for the acknowledgements of one life.
const LIFE_TIMEOUT: Duration = Duration::from_secs(60);
const NAMESPACE: &str = "default";

/// Returns an object whose integrity can be verified: it holds an id, a filler and a checksum of both.
fn object(name: &str, id: &str, filler: u64, expect: Option<u64>) -> ConfigMap {
    let filler = "x".repeat(filler as usize);
    let sum = checksum(id, &filler);
    let data = BTreeMap::from([("id".into(), id.into()), ("filler".into(), filler), ("sum".into(), sum)]);
    let metadata = ObjectMeta {
        name: Some(name.into()),
        labels: Some(BTreeMap::from([("crash".into(), "test".into())])),
        resource_version: expect.map(|revision| revision.to_string()),
        ..ObjectMeta::default()
    };
    ConfigMap { data: Some(data), metadata, ..ConfigMap::default() }
}

fn id_of(object: &ConfigMap) -> Option<String> {
    let data = object.data.as_ref()?;
    let (id, filler) = (data.get("id")?, data.get("filler")?);
    (data.get("sum")? == &checksum(id, filler)).then(|| id.clone())
}

fn checksum(id: &str, filler: &str) -> String {
    let hash = id
        .bytes()
        .chain(filler.bytes())
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

fn revision_of(object: &ConfigMap) -> u64 {
    object.resource_version().unwrap().parse().unwrap()
}

/// Excludes objects of controllers, such as the root certificate.
fn own_objects() -> ListParams {
    ListParams::default().labels("crash=test")
}

async fn list(api: &Api<ConfigMap>, life: u32) -> ListSnapshot {
    let list = api.list(&own_objects()).await.unwrap();
    let objects = list.items.iter().map(|object| (object.name_any(), (revision_of(object), id_of(object)))).collect();
    ListSnapshot { life, revision: list.metadata.resource_version.unwrap().parse().unwrap(), objects }
}

/// Counts acknowledged writes and triggers the kill.
struct KillTrigger {
    left: AtomicU64,
    kill: Notify,
}

impl KillTrigger {
    fn acknowledged(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.kill.notify_one();
        }
    }
}

/// Creates, updates and deletes objects until the server is killed.
async fn write(client: Client, life: u32, writer: u64, trigger: Arc<KillTrigger>) -> Vec<HistoryWrite> {
    let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let mut random = RandomNumbers::new(u64::from(life) * WRITERS + writer);
    let mut writes = Vec::new();
    for step in 0.. {
        // Half of the objects are shared by all writers, so that writes conflict.
        let number = random.below(KEYS);
        let name = if number.is_multiple_of(2) { format!("shared-{number}") } else { format!("own-{writer}-{number}") };
        let Ok(stored) = api.get_opt(&name).await else { break };
        let expect = stored.as_ref().map(revision_of);
        let id = format!("{life}-{writer}-{step}");
        let deleting = expect.is_some() && random.below(4) == 0;
        let outcome = if deleting {
            let resource_version = expect.map(|revision| revision.to_string());
            let preconditions = Some(Preconditions { resource_version, uid: None });
            let deleted = api.delete(&name, &DeleteParams { preconditions, ..DeleteParams::default() }).await;
            deleted.map(|_| WriteOutcome::Deleted)
        } else {
            let object = object(&name, &id, random.below(3_000), expect);
            let written = match expect {
                None => api.create(&PostParams::default(), &object).await,
                Some(_) => api.replace(&name, &PostParams::default(), &object).await,
            };
            written.map(|object| WriteOutcome::Acknowledged(revision_of(&object)))
        };
        let outcome = outcome.unwrap_or_else(|error| match error {
            kube::Error::Api(status) if matches!(status.code, 404 | 409) => WriteOutcome::Refused,
            kube::Error::Api(status) => panic!("{name}: {status:?}"),
            _ => WriteOutcome::Unknown,
        });
        writes.push(HistoryWrite { life, key: name, id: (!deleting).then_some(id), expect, outcome });
        match outcome {
            WriteOutcome::Unknown => break,
            WriteOutcome::Refused => {}
            WriteOutcome::Acknowledged(_) | WriteOutcome::Deleted => trigger.acknowledged(),
        }
    }
    writes
}

/// Reads a watch until the server is killed, or until it has reached revision `until`.
async fn watch(client: Client, after: u64, until: u64) -> WatchStream {
    let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let mut stream = WatchStream { after, events: Vec::new() };
    let parameters = WatchParams::default().labels("crash=test");
    let Ok(events) = api.watch(&parameters, &after.to_string()).await else { return stream };
    let mut events = std::pin::pin!(events);
    while let Some(Ok(event)) = events.next().await {
        let Some(event) = history_event(event) else { continue };
        let revision = event.revision();
        stream.events.push(event);
        if revision >= until {
            break;
        }
    }
    stream
}

fn history_event(event: WatchEvent<ConfigMap>) -> Option<HistoryEvent> {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            Some(HistoryEvent::Put { key: object.name_any(), revision: revision_of(&object), id: id_of(&object) })
        }
        WatchEvent::Deleted(object) => {
            Some(HistoryEvent::Deleted { key: object.name_any(), revision: revision_of(&object) })
        }
        WatchEvent::Bookmark(bookmark) => {
            Some(HistoryEvent::Bookmark { revision: bookmark.metadata.resource_version.parse().unwrap() })
        }
        WatchEvent::Error(status) => panic!("a watch that could have gone on was ended: {status:?}"),
    }
}

/// Starts a watch with initial events, which is a list and a stream in one.
async fn watch_with_initial_events(client: Client, life: u32) -> Option<(ListSnapshot, WatchStream)> {
    let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let parameters = WatchParams::default().labels("crash=test").initial_events();
    let events = api.watch(&parameters, "").await.ok()?;
    let mut events = std::pin::pin!(events);
    let mut listing = ListSnapshot { life, ..ListSnapshot::default() };
    loop {
        match history_event(events.next().await?.ok()?)? {
            HistoryEvent::Put { key, revision, id } => drop(listing.objects.insert(key, (revision, id))),
            HistoryEvent::Bookmark { revision } => {
                listing.revision = revision;
                break;
            }
            HistoryEvent::Deleted { .. } => panic!("an initial event of a watch deletes something"),
        }
    }
    let mut stream = WatchStream { after: listing.revision, events: Vec::new() };
    while let Some(Ok(event)) = events.next().await {
        stream.events.extend(history_event(event));
    }
    Some((listing, stream))
}

/// Record so far, and the progress of each resumed watcher.
#[derive(Default)]
struct CrashRecord {
    history: History,
    reached: Vec<u64>,
}

impl CrashRecord {
    /// Lists all objects, then resumes the watches.
    async fn begin(&mut self, server: &mut UpProcess, life: u32, until: u64) -> Vec<JoinHandle<WatchStream>> {
        let client = server.client().await.unwrap();
        let listing = list(&Api::namespaced(client, NAMESPACE), life).await;
        self.reached.resize(RESUMED_WATCHERS, listing.revision);
        self.history.watchers.resize(RESUMED_WATCHERS.max(self.history.watchers.len()), Vec::new());
        self.history.listings.push(listing);
        let mut watchers = Vec::new();
        for after in &self.reached {
            let client = self::client(server.kubeconfig()).await.unwrap();
            watchers.push(tokio::spawn(watch(client, *after, until)));
        }
        watchers
    }

    async fn end(&mut self, watchers: Vec<JoinHandle<WatchStream>>) {
        for (index, watcher) in watchers.into_iter().enumerate() {
            let stream = watcher.await.unwrap();
            let last = stream.events.iter().map(HistoryEvent::revision).max();
            self.reached[index] = last.unwrap_or(stream.after).max(stream.after);
            self.history.watchers[index].push(stream);
        }
    }

    async fn life(&mut self, server: &mut UpProcess, life: u32, random: &mut RandomNumbers) {
        let watchers = self.begin(server, life, u64::MAX).await;
        let kubeconfig = server.kubeconfig().to_owned();
        let fresh = tokio::spawn(watch_with_initial_events(self::client(&kubeconfig).await.unwrap(), life));
        let trigger = Arc::new(KillTrigger { left: AtomicU64::new(1 + random.below(150)), kill: Notify::new() });
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let client = self::client(&kubeconfig).await.unwrap();
            writers.push(tokio::spawn(write(client, life, writer, trigger.clone())));
        }
        tokio::time::timeout(LIFE_TIMEOUT, trigger.kill.notified()).await.expect("writers get somewhere");
        // At any point of a flush, not only right after it.
        tokio::time::sleep(Duration::from_micros(random.below(4_000))).await;
        server.kill();
        for writer in writers {
            self.history.writes.extend(writer.await.unwrap());
        }
        self.end(watchers).await;
        if let Some((listing, stream)) = fresh.await.unwrap() {
            // The list runs concurrently with the writers, so it may lack writes of this life, but none of earlier
            // lives.
            self.history.listings.push(listing);
            self.history.watchers.push(vec![stream]);
        }
    }

    /// Waits until the resumed watches have received everything.
    async fn catch_up(&mut self, server: &mut UpProcess, life: u32) {
        let api: Api<ConfigMap> = Api::namespaced(server.client().await.unwrap(), NAMESPACE);
        let last = api.create(&PostParams::default(), &object("last", "last", 1, None)).await.unwrap();
        let outcome = WriteOutcome::Acknowledged(revision_of(&last));
        self.history.writes.push(HistoryWrite {
            life,
            key: "last".into(),
            id: Some("last".into()),
            expect: None,
            outcome,
        });
        let watchers = self.begin(server, life, revision_of(&last)).await;
        self.end(watchers).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_kills_under_load_break_no_promise() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(u64::from(std::process::id()));
    eprintln!("SEED={seed}");
    let mut random = RandomNumbers::new(seed);
    let mut record = CrashRecord::default();
    for life in 0..KILLS {
        let mut server = UpProcess::start(&data).unwrap();
        if life > 0 && random.below(10) == 0 {
            // Crashes during startup must be harmless too.
            tokio::time::sleep(Duration::from_millis(random.below(60))).await;
            server.kill();
            server = UpProcess::start(&data).unwrap();
        }
        record.life(&mut server, life, &mut random).await;
    }
    record.catch_up(&mut UpProcess::start(&data).unwrap(), KILLS).await;
    let violations = check(&record.history);
    assert!(violations.is_empty(), "{} violations, the first: {}", violations.len(), violations[0]);
    let writes = &record.history.writes;
    let acknowledged =
        writes.iter().filter(|write| !matches!(write.outcome, WriteOutcome::Refused | WriteOutcome::Unknown));
    let unknown = writes.iter().filter(|write| write.outcome == WriteOutcome::Unknown);
    eprintln!("{} acknowledged, {} cut off by {KILLS} kills", acknowledged.count(), unknown.count());
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut first = UpProcess::start(&data).unwrap();
    let client = first.client().await.unwrap();
    let mut second = std::process::Command::new(switchboard_suite::process::binary().unwrap());
    second.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data);
    let second = second.arg("--kubeconfig").arg(dir.path().join("second")).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success());
    assert!(said.contains("the data directory is in use: another process holds"), "{said}");
    assert!(switchboard_suite::process::is_ready(&client).await, "the first one serves on");
}
