//! Writes to the embedded cluster, and what goes wrong with them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_kernel::applier::{Answer, KubeWriter, WriteRequest, Writer};
use switchboard_kernel::resource::ObjectKey;

use crate::fault::{Fault, Kind, Part};
use crate::world::{Clock, World};

/// The kernel's own writer with a fault in it.
pub struct FaultyWriter {
    inner: KubeWriter,
    clock: Clock,
    parts: Vec<Part>,
    /// How many writes were sent.
    sent: AtomicU32,
    /// The process is dead: nothing is done any more, nothing is heard.
    dead: AtomicBool,
    /// Faults are over.
    calm: AtomicBool,
}

impl FaultyWriter {
    pub fn new(world: &World, fault: &Fault) -> Self {
        let strikes_writes = |part: &&Part| !Kind::EVENTS.contains(&part.kind);
        Self {
            inner: world.writer(),
            clock: world.clock.clone(),
            parts: fault.parts().iter().filter(strikes_writes).copied().collect(),
            sent: AtomicU32::new(0),
            dead: AtomicBool::new(false),
            calm: AtomicBool::new(false),
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
        self.inner.send(request).await
    }

    async fn look(&self, key: &ObjectKey) -> Result<Option<Value>, String> {
        if self.is_dead() {
            return Err("the process died".to_string());
        }
        self.inner.get(key).await
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
