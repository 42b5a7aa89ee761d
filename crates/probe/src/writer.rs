//! Writes to the embedded cluster, and what goes wrong with them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_cluster::store::Store;
use switchboard_kernel::applier::{Answer, KubeWriter, WriteRequest, Writer, prepare};
use switchboard_kernel::resource::ObjectKey;

use crate::fault::{Fault, Kind, Part};
use crate::world::{Clock, World};

/// The kernel's own writer with a fault in it.
pub struct FaultyWriter {
    inner: KubeWriter,
    store: Store,
    clock: Clock,
    parts: Vec<Part>,
    /// How many writes were sent.
    sent: AtomicU32,
    /// The process is dead: nothing is done any more, nothing is heard.
    dead: AtomicBool,
    /// Faults are over.
    calm: AtomicBool,
    memo: Mutex<Memo>,
}

/// What the server answers while nothing is written. A cluster at one revision gives the same answer to the same question, and
/// a hundred rounds in which nothing happens would ask little else.
#[derive(Default)]
struct Memo {
    revision: u64,
    gets: HashMap<ObjectKey, Option<Value>>,
    sends: HashMap<String, Answer>,
}

impl FaultyWriter {
    pub fn new(world: &World, fault: &Fault) -> Self {
        let strikes_writes = |part: &&Part| !Kind::EVENTS.contains(&part.kind);
        Self {
            inner: world.writer(),
            store: world.store.clone(),
            clock: world.clock.clone(),
            parts: fault.parts().iter().filter(strikes_writes).copied().collect(),
            sent: AtomicU32::new(0),
            dead: AtomicBool::new(false),
            calm: AtomicBool::new(false),
            memo: Mutex::default(),
        }
    }

    /// How many writes were sent so far.
    pub fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether the process died since the last call; a new one begins.
    pub fn died(&self) -> bool {
        self.dead.swap(false, Ordering::Relaxed)
    }

    /// From now on nothing goes wrong.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    fn die(&self) -> Answer {
        self.dead.store(true, Ordering::Relaxed);
        lost("the process died")
    }

    async fn strike(&self, request: &WriteRequest) -> Answer {
        if self.is_dead() {
            return lost("the process died");
        }
        let number = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let calm = self.calm.load(Ordering::Relaxed);
        let Some(part) = self.parts.iter().find(|part| !calm && part.strikes(number)) else {
            return self.pass(request).await;
        };
        match part.kind {
            Kind::CrashBeforeWrite => self.die(),
            Kind::CrashAtWrite => {
                self.pass(request).await;
                self.die()
            }
            Kind::CrashAfterWrite => {
                let answer = self.pass(request).await;
                self.die();
                answer
            }
            Kind::Answer409 => refused(409, "Conflict", "the object has been modified"),
            Kind::Answer429 => refused(429, "TooManyRequests", "too many requests, try again later"),
            // The kernel takes it as unknown whether a server that failed has written.
            Kind::Answer500 => lost("an internal error occurred"),
            Kind::TimeoutNotDone => lost("no answer came"),
            Kind::TimeoutDone => {
                self.pass(request).await;
                lost("no answer came")
            }
            Kind::StaleFromEvent | Kind::MissEvent | Kind::MergeEvent => self.pass(request).await,
        }
    }

    async fn pass(&self, request: &WriteRequest) -> Answer {
        let prepared = prepare(request);
        let user = request.user.as_ref().map(|user| user.user()).unwrap_or_default();
        let question =
            format!("{user} {} {} {}\n{}", prepared.method, prepared.uri, prepared.content_type, prepared.body);
        if let Some(answer) = self.remembered(|memo| memo.sends.get(&question).cloned()) {
            return answer;
        }
        let before = self.store.revision();
        let answer = self.inner.send(request).await;
        if self.store.revision() == before {
            self.remembered(|memo| memo.sends.insert(question, answer.clone()));
        }
        answer
    }

    async fn look(&self, key: &ObjectKey) -> Result<Option<Value>, String> {
        if self.is_dead() {
            return Err("the process died".to_string());
        }
        if let Some(found) = self.remembered(|memo| memo.gets.get(key).cloned()) {
            return Ok(found);
        }
        let before = self.store.revision();
        let found = self.inner.get(key).await?;
        if self.store.revision() == before {
            self.remembered(|memo| memo.gets.insert(key.clone(), found.clone()));
        }
        Ok(found)
    }

    fn remembered<T>(&self, ask: impl FnOnce(&mut Memo) -> T) -> T {
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.store.revision();
        if memo.revision != revision {
            *memo = Memo { revision, ..Memo::default() };
        }
        ask(&mut memo)
    }
}

impl Writer for FaultyWriter {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, Answer> {
        self.strike(request).boxed()
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        self.look(key).boxed()
    }

    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        if !self.is_dead() {
            self.clock.reach(self.clock.now().after(time));
        }
        std::future::ready(()).boxed()
    }
}

fn lost(message: &str) -> Answer {
    Answer::Unknown { message: message.to_string() }
}

fn refused(code: u16, reason: &str, message: &str) -> Answer {
    Answer::Refused { code, reason: reason.to_string(), message: message.to_string(), retry_after: None }
}
