//! Who answers questions: clusters and git servers are asked here, beside the units, within bounds.

pub mod cluster;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use jiff::Timestamp;
use switchboard_gitops::flow::{credential, environment};
use switchboard_gitops::kinds::credential::Outcome;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_ledger::Moment;
use tokio::sync::Semaphore;

use crate::desk::Desk;

/// How many questions of one tenant are asked at a time: one that names clusters which do not answer delays itself alone.
const MAX_OF_TENANT: usize = 2;
/// How many questions are asked at a time.
const MAX_AT_ONCE: usize = 64;
/// How long one may take. To make a service account, and to wait for its token, is the longest.
const DEADLINE: Duration = Duration::from_secs(150);

/// An answer that takes its time.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Somebody with a network.
pub trait Network: Send + Sync + 'static {
    /// Asks a cluster.
    fn environment<'a>(&'a self, question: &'a environment::Question) -> Later<'a, environment::Answer>;

    /// Asks a git server.
    fn credential<'a>(&'a self, question: &'a credential::Question) -> Later<'a, Outcome>;
}

/// What is under way, by tenant.
#[derive(Default)]
struct Lanes(Mutex<BTreeMap<Box<str>, Weak<Semaphore>>>);

impl Lanes {
    fn of(&self, tenant: &str) -> Arc<Semaphore> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|_, lane| lane.strong_count() > 0);
        if let Some(lane) = lanes.get(tenant).and_then(Weak::upgrade) {
            return lane;
        }
        let lane = Arc::new(Semaphore::new(MAX_OF_TENANT));
        lanes.insert(tenant.into(), Arc::downgrade(&lane));
        lane
    }
}

/// Answers what lies on a desk until nobody asks any more, and wakes whoever asked.
pub async fn serve<Q, A, F>(desk: Arc<Desk<Q, A>>, operator: &str, handle: Handle, answer: F)
where
    Q: Clone + PartialEq + Send + Sync + 'static,
    A: Clone + Send + Sync + 'static,
    F: AsyncAnswer<Q, A>,
{
    let Some(mut inbox) = desk.inbox() else { return };
    let answer = Arc::new(answer);
    let lanes = Lanes::default();
    let all = Arc::new(Semaphore::new(MAX_AT_ONCE));
    let operator = OperatorName::new(operator);
    while let Some((unit, question)) = inbox.recv().await {
        let (desk, handle, operator, answer) = (desk.clone(), handle.clone(), operator.clone(), answer.clone());
        let (lane, all) = (lanes.of(unit.namespace()), all.clone());
        tokio::spawn(async move {
            let (Ok(_of_tenant), Ok(_of_all)) = (lane.acquire().await, all.acquire().await) else { return };
            let late = answer.late(&question);
            let answered = tokio::time::timeout(DEADLINE, answer.answer(&question)).await.unwrap_or(late);
            let is_refusal = answer.is_refusal(&answered);
            desk.put(&unit, &question, answered, is_refusal, now());
            wake(&handle, operator, unit).await;
        });
    }
}

async fn wake(handle: &Handle, operator: OperatorName, unit: Unit) {
    // A kernel that has stopped asks again when it is back.
    let _ = handle.tell(operator, vec![unit]).await;
}

fn now() -> Moment {
    Moment::from_unix_us(Timestamp::now().as_microsecond())
}

/// How questions of one sort are answered.
pub trait AsyncAnswer<Q, A>: Send + Sync + 'static {
    /// Asks.
    fn answer<'a>(&'a self, question: &'a Q) -> Later<'a, A>;
    /// What is said when it took too long.
    fn late(&self, question: &Q) -> A;
    /// Whether it is to be asked again some day.
    fn is_refusal(&self, answer: &A) -> bool;
}

/// Questions to clusters.
pub struct Clusters<N>(pub Arc<N>);

impl<N: Network> AsyncAnswer<environment::Question, environment::Answer> for Clusters<N> {
    fn answer<'a>(&'a self, question: &'a environment::Question) -> Later<'a, environment::Answer> {
        self.0.environment(question)
    }

    fn late(&self, question: &environment::Question) -> environment::Answer {
        cluster::late(question)
    }

    fn is_refusal(&self, answer: &environment::Answer) -> bool {
        matches!(answer, environment::Answer::Refused { .. })
    }
}

/// Questions to git servers.
pub struct Repositories<N>(pub Arc<N>);

impl<N: Network> AsyncAnswer<credential::Question, credential::Answer> for Repositories<N> {
    fn answer<'a>(&'a self, question: &'a credential::Question) -> Later<'a, credential::Answer> {
        Box::pin(async {
            let outcome = self.0.credential(question).await;
            credential::Answer { digest: question.digest.clone(), outcome }
        })
    }

    fn late(&self, question: &credential::Question) -> credential::Answer {
        let outcome = Outcome::InvalidRepositoryUrl("the repository did not answer in time".to_string());
        credential::Answer { digest: question.digest.clone(), outcome }
    }

    fn is_refusal(&self, answer: &credential::Answer) -> bool {
        answer.outcome != Outcome::Valid
    }
}
