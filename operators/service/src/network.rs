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
/// How long one is counted among those: whoever is silent longer than this waits on its tenant's account alone.
const PROMPT: Duration = Duration::from_secs(3);
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

/// What is under way, by tenant or by unit.
struct Lanes {
    /// How many at a time.
    width: usize,
    lanes: Mutex<BTreeMap<Box<str>, Weak<Semaphore>>>,
}

impl Lanes {
    fn new(width: usize) -> Lanes {
        Lanes { width, lanes: Mutex::default() }
    }

    fn of(&self, name: &str) -> Arc<Semaphore> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|_, lane| lane.strong_count() > 0);
        if let Some(lane) = lanes.get(name).and_then(Weak::upgrade) {
            return lane;
        }
        let lane = Arc::new(Semaphore::new(self.width));
        lanes.insert(name.into(), Arc::downgrade(&lane));
        lane
    }
}

/// Whose turn it is at a unit: what is made for it somewhere and what is removed there again never happen at once.
pub struct Turns(Lanes);

impl Default for Turns {
    fn default() -> Self {
        Turns(Lanes::new(1))
    }
}

/// Answers what lies on a desk until nobody asks any more, and wakes whoever asked.
pub async fn serve<Q, A, F>(desk: Arc<Desk<Q, A>>, operator: &str, handle: Handle, answer: F, turns: &Turns)
where
    Q: Clone + PartialEq + Send + Sync + 'static,
    A: Clone + Send + Sync + 'static,
    F: AsyncAnswer<Q, A>,
{
    let Some(mut inbox) = desk.inbox() else { return };
    let answer = Arc::new(answer);
    let lanes = Lanes::new(MAX_OF_TENANT);
    let all = Arc::new(Semaphore::new(MAX_AT_ONCE));
    let operator = OperatorName::new(operator);
    while let Some((unit, question)) = inbox.recv().await {
        let (desk, handle, operator, answer) = (desk.clone(), handle.clone(), operator.clone(), answer.clone());
        let (turn, lane, all) = (turns.0.of(&unit.to_string()), lanes.of(unit.namespace()), all.clone());
        tokio::spawn(async move {
            {
                let Ok(_turn) = turn.acquire().await else { return };
                let (Ok(_of_tenant), Ok(of_all)) = (lane.acquire().await, all.acquire().await) else { return };
                if !desk.is_asked(&unit, &question) {
                    return;
                }
                let late = answer.late(&question);
                let mut asking = std::pin::pin!(tokio::time::timeout(DEADLINE, answer.answer(&question)));
                let answered = match tokio::time::timeout(PROMPT, &mut asking).await {
                    Ok(prompt) => prompt,
                    Err(_) => {
                        drop(of_all);
                        asking.await
                    }
                };
                let answered = answered.unwrap_or(late);
                let is_refusal = answer.is_refusal(&answered);
                desk.put(&unit, &question, answered, is_refusal, now());
            }
            wake(&handle, operator.clone(), unit.clone()).await;
            // A unit whose object is gone has no clock of its own.
            if let Some(ms) = desk.again_ms(&unit, now()) {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                wake(&handle, operator, unit).await;
            }
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
        matches!(answer, environment::Answer::Refused { .. } | environment::Answer::Kept { .. })
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
        let outcome = Outcome::Unchecked("the repository did not answer in time".to_string());
        credential::Answer { digest: question.digest.clone(), outcome }
    }

    fn is_refusal(&self, answer: &credential::Answer) -> bool {
        answer.outcome != Outcome::Valid
    }
}
