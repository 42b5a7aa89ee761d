//! Writer for the embedded cluster with injected faults.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use switchboard_kernel::applier::{KubeWriter, WriteRequest, WriteResponse, Writer};
use switchboard_kernel::resource::ObjectKey;

use crate::fault::{Fault, FaultKind, FaultPart};
use crate::run_cluster::{RunCluster, VirtualClock};

/// Writer of the kernel with faults.
pub struct FaultyWriter {
    inner: KubeWriter,
    clock: VirtualClock,
    parts: Vec<FaultPart>,
    /// Number of writes sent.
    sent: AtomicU32,
    /// Whether the process has crashed, so that nothing is sent or received.
    crashed: AtomicBool,
    /// Whether no more faults are injected.
    faults_stopped: AtomicBool,
}

impl FaultyWriter {
    pub fn new(cluster: &RunCluster, fault: &Fault) -> Self {
        let strikes_writes = |part: &&FaultPart| !FaultKind::EVENTS.contains(&part.kind) && !part.kind.is_of_rows();
        Self {
            inner: cluster.writer(),
            clock: cluster.clock.clone(),
            parts: fault.parts().iter().filter(strikes_writes).copied().collect(),
            sent: AtomicU32::new(0),
            crashed: AtomicBool::new(false),
            faults_stopped: AtomicBool::new(false),
        }
    }

    /// Returns the number of writes sent so far.
    pub fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether the process crashed since the last call; resets the state for a new process.
    pub fn take_crash(&self) -> bool {
        self.crashed.swap(false, Ordering::Relaxed)
    }

    /// Stops injecting faults.
    pub fn stop_faults(&self) {
        self.faults_stopped.store(true, Ordering::Relaxed);
    }

    fn has_crashed(&self) -> bool {
        self.crashed.load(Ordering::Relaxed)
    }

    fn crash(&self) -> WriteResponse {
        self.crashed.store(true, Ordering::Relaxed);
        lost_response("the process crashed")
    }

    async fn send_with_fault(&self, request: &WriteRequest) -> WriteResponse {
        if self.has_crashed() {
            return lost_response("the process crashed");
        }
        let number = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let calm = self.faults_stopped.load(Ordering::Relaxed);
        let Some(part) = self.parts.iter().find(|part| !calm && part.applies_to(number)) else {
            return self.forward(request).await;
        };
        match part.kind {
            FaultKind::CrashBeforeWrite => self.crash(),
            FaultKind::CrashAtWrite => {
                self.forward(request).await;
                self.crash()
            }
            FaultKind::CrashAfterWrite => {
                let answer = self.forward(request).await;
                self.crash();
                answer
            }
            FaultKind::Response409 => rejected_response(409, "Conflict", "the object has been modified"),
            FaultKind::Response429 => rejected_response(429, "TooManyRequests", "too many requests, try again later"),
            // For the kernel it is unknown whether a failing server has written.
            FaultKind::Response500 => lost_response("an internal error occurred"),
            FaultKind::TimeoutNotDone => lost_response("no response"),
            FaultKind::TimeoutDone => {
                self.forward(request).await;
                lost_response("no response")
            }
            // Faults of events and rows do not concern writes.
            _ => self.forward(request).await,
        }
    }

    async fn forward(&self, request: &WriteRequest) -> WriteResponse {
        self.inner.send(request).await
    }

    async fn read(&self, key: &ObjectKey) -> Result<Option<Value>, String> {
        if self.has_crashed() {
            return Err("the process crashed".to_string());
        }
        self.inner.get(key).await
    }
}

impl Writer for FaultyWriter {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, WriteResponse> {
        self.send_with_fault(request).boxed()
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        self.read(key).boxed()
    }

    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        if !self.has_crashed() {
            self.clock.advance_to(self.clock.now().after(time));
        }
        std::future::ready(()).boxed()
    }
}

fn lost_response(message: &str) -> WriteResponse {
    WriteResponse::Unknown { message: message.to_string() }
}

fn rejected_response(code: u16, reason: &str, message: &str) -> WriteResponse {
    WriteResponse::Refused { code, reason: reason.to_string(), message: message.to_string(), retry_after: None }
}
