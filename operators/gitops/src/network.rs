//! Runs the external checks of clusters and git servers, beside the units and with limited concurrency.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use jiff::Timestamp;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_sql::DbTimestamp;
use tokio::sync::Semaphore;

use crate::credential::kind::CredentialOutcome;
use crate::external_checks::CheckQueue;
use crate::{credential, environment};

/// Concurrent checks of one tenant. A tenant with unresponsive clusters only delays itself.
const MAX_PER_TENANT: usize = 2;
/// Concurrent checks of all tenants.
const MAX_CONCURRENT: usize = 64;
/// Time after which a check no longer counts towards [`MAX_CONCURRENT`], only towards its tenant's limit.
const SLOW_AFTER: Duration = Duration::from_secs(3);
/// Deadline of a check. Creating a service account and waiting for its token takes longest.
const CHECK_DEADLINE: Duration = Duration::from_secs(150);

/// Boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Checks that need network access.
pub trait ExternalChecker: Send + Sync + 'static {
    /// Checks a cluster.
    fn check_environment<'a>(
        &'a self,
        question: &'a environment::ClusterCheck,
    ) -> BoxFuture<'a, environment::ClusterCheckResult>;

    /// Checks the credentials of a git server.
    fn check_credential<'a>(&'a self, question: &'a credential::CredentialCheck) -> BoxFuture<'a, CredentialOutcome>;
}

/// Semaphores by tenant or by unit.
struct ConcurrencyLimits {
    /// Permits of each semaphore.
    max_concurrent: usize,
    limits: Mutex<BTreeMap<Box<str>, Weak<Semaphore>>>,
}

impl ConcurrencyLimits {
    fn new(max_concurrent: usize) -> ConcurrencyLimits {
        ConcurrencyLimits { max_concurrent, limits: Mutex::default() }
    }

    fn of(&self, name: &str) -> Arc<Semaphore> {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.retain(|_, limit| limit.strong_count() > 0);
        if let Some(limit) = limits.get(name).and_then(Weak::upgrade) {
            return limit;
        }
        let limit = Arc::new(Semaphore::new(self.max_concurrent));
        limits.insert(name.into(), Arc::downgrade(&limit));
        limit
    }
}

/// Locks by unit: a creation and a removal for the same unit never run concurrently.
pub struct UnitLocks(ConcurrencyLimits);

impl Default for UnitLocks {
    fn default() -> Self {
        UnitLocks(ConcurrencyLimits::new(1))
    }
}

/// Runs the queued checks and triggers their units, until the queue is dropped.
pub async fn serve<Q, A, F>(queue: Arc<CheckQueue<Q, A>>, operator: &str, handle: Handle, answer: F, locks: &UnitLocks)
where
    Q: Clone + PartialEq + Send + Sync + 'static,
    A: Clone + Send + Sync + 'static,
    F: AsyncCheck<Q, A>,
{
    let Some(mut receiver) = queue.receiver() else { return };
    let answer = Arc::new(answer);
    let limits = ConcurrencyLimits::new(MAX_PER_TENANT);
    let all = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let operator = OperatorName::new(operator);
    while let Some((unit, question)) = receiver.recv().await {
        let (queue, handle, operator, answer) = (queue.clone(), handle.clone(), operator.clone(), answer.clone());
        let (lock, limit, all) = (locks.0.of(&unit.to_string()), limits.of(unit.namespace()), all.clone());
        tokio::spawn(async move {
            {
                let Ok(_turn) = lock.acquire().await else { return };
                let (Ok(_of_tenant), Ok(of_all)) = (limit.acquire().await, all.acquire().await) else { return };
                if !queue.is_pending_check(&unit, &question) {
                    return;
                }
                let timeout_answer = answer.timeout_answer(&question);
                let mut asking = std::pin::pin!(tokio::time::timeout(CHECK_DEADLINE, answer.answer(&question)));
                let answered = match tokio::time::timeout(SLOW_AFTER, &mut asking).await {
                    Ok(prompt) => prompt,
                    Err(_) => {
                        drop(of_all);
                        asking.await
                    }
                };
                let answered = answered.unwrap_or(timeout_answer);
                let should_retry = answer.should_retry(&answered);
                queue.record(&unit, &question, answered, should_retry, now());
            }
            enqueue(&handle, operator.clone(), unit.clone()).await;
            // The kernel has no timer for a unit whose object is deleted.
            if let Some(ms) = queue.retry_after_ms(&unit, now()) {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                enqueue(&handle, operator, unit).await;
            }
        });
    }
}

async fn enqueue(handle: &Handle, operator: OperatorName, unit: Unit) {
    // A stopped kernel enqueues the checks again when it starts.
    let _ = handle.enqueue(operator, vec![unit]).await;
}

fn now() -> DbTimestamp {
    DbTimestamp::from_unix_us(Timestamp::now().as_microsecond())
}

/// Checks of one kind.
pub trait AsyncCheck<Q, A>: Send + Sync + 'static {
    /// Runs a check.
    fn answer<'a>(&'a self, question: &'a Q) -> BoxFuture<'a, A>;
    /// Returns the answer for a check that exceeded its deadline.
    fn timeout_answer(&self, question: &Q) -> A;
    /// Whether the check is retried after this answer.
    fn should_retry(&self, answer: &A) -> bool;
}

/// Checks of clusters.
pub struct ClusterChecks<N>(pub Arc<N>);

impl<N: ExternalChecker> AsyncCheck<environment::ClusterCheck, environment::ClusterCheckResult> for ClusterChecks<N> {
    fn answer<'a>(&'a self, question: &'a environment::ClusterCheck) -> BoxFuture<'a, environment::ClusterCheckResult> {
        self.0.check_environment(question)
    }

    fn timeout_answer(&self, question: &environment::ClusterCheck) -> environment::ClusterCheckResult {
        crate::environment::cluster::timeout_answer(question)
    }

    fn should_retry(&self, answer: &environment::ClusterCheckResult) -> bool {
        matches!(answer, environment::ClusterCheckResult::Refused { .. } | environment::ClusterCheckResult::Kept { .. })
    }
}

/// Checks of git servers.
pub struct RepositoryChecks<N>(pub Arc<N>);

impl<N: ExternalChecker> AsyncCheck<credential::CredentialCheck, credential::CredentialCheckResult>
    for RepositoryChecks<N>
{
    fn answer<'a>(
        &'a self,
        question: &'a credential::CredentialCheck,
    ) -> BoxFuture<'a, credential::CredentialCheckResult> {
        Box::pin(async {
            let outcome = self.0.check_credential(question).await;
            credential::CredentialCheckResult { digest: question.digest.clone(), outcome }
        })
    }

    fn timeout_answer(&self, question: &credential::CredentialCheck) -> credential::CredentialCheckResult {
        let outcome = CredentialOutcome::Unchecked("the repository did not respond in time".to_string());
        credential::CredentialCheckResult { digest: question.digest.clone(), outcome }
    }

    fn should_retry(&self, answer: &credential::CredentialCheckResult) -> bool {
        answer.outcome != CredentialOutcome::Valid
    }
}
