//! Readings: one state of the database that several read at once.
//!
//! ```text
//!  view() ─▶ waits ─▶ reading begins ─▶ question ─┐            ┌─▶ answer
//!  view() ─▶ waits ──────┘              question ─┴─ one each ─┴─▶ answer
//! ```
//!
//! Whoever comes while a reading is under way waits for the next: it must see what was committed before it came. So under load many
//! share one transaction, and what many ask alike is one statement; alone, nobody waits.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep_until;

use super::pace::Pace;
use super::question::{Question, Shape};
use super::{Asked, LedgerError, within};
use crate::pool::{Intent, Pool, Statement, Transaction};
use crate::value::Value;

/// How long whoever comes waits for a reading to end, before another begins beside it.
const PATIENCE: Duration = Duration::from_millis(20);

/// How many questions of a reading may wait to be looked at; each reader has one at most.
const MAX_WAITING_QUESTIONS: usize = 256;

/// How many questions a reading remembers, and of how many rows an answer may be: what is read in pages is read once.
const MAX_KNOWN: usize = 4096;
const MAX_KNOWN_ROWS: usize = 16;

/// Rows, as they are stored.
pub(super) type Rows = Arc<Vec<Vec<Value>>>;

/// A question, and who asks.
pub(super) struct Wanted {
    pub question: Question,
    pub answer: oneshot::Sender<Result<Rows, LedgerError>>,
}

/// A place in a reading. The reading ends when nobody has one.
pub(super) type Seat = mpsc::Sender<Wanted>;

/// All readings of a database.
#[derive(Debug)]
pub(super) struct Readings {
    pool: Pool,
    asked: Arc<Asked>,
    runtime: Handle,
    pace: Pace,
    statements: Statements,
    state: Mutex<State>,
}

/// The words of questions, made once for each shape; there are some dozens of them.
type Statements = Mutex<HashMap<Shape, Arc<Statement>>>;

/// How many are kept.
const MAX_STATEMENTS: usize = 512;

#[derive(Debug, Default)]
struct State {
    waiting: Vec<oneshot::Sender<Result<Seat, LedgerError>>>,
    /// Whether one is about to begin, and will take whoever waits.
    is_starting: bool,
    open: usize,
}

impl Readings {
    pub fn new(pool: Pool, asked: Arc<Asked>, runtime: Handle) -> Arc<Readings> {
        let (pace, statements, state) = (Pace::default(), Mutex::default(), Mutex::default());
        Arc::new(Readings { pool, asked, runtime, pace, statements, state })
    }

    /// A place in a reading that begins after this was asked for.
    pub async fn seat(self: &Arc<Self>) -> Result<Seat, LedgerError> {
        let (sender, mut seat) = oneshot::channel();
        self.state().waiting.push(sender);
        self.start(1);
        loop {
            match tokio::time::timeout(PATIENCE, &mut seat).await {
                Ok(seat) => return seat.unwrap_or_else(|_| Err(lost())),
                Err(_) => self.start(self.pool.max_readings()),
            }
        }
    }

    /// Begins another one, if somebody waits and fewer than so many are open.
    fn start(self: &Arc<Self>, most: usize) {
        let mut state = self.state();
        if state.waiting.is_empty() || state.is_starting || state.open >= most {
            return;
        }
        state.is_starting = true;
        state.open += 1;
        drop(state);
        let open = Open { readings: Arc::clone(self), has_begun: false };
        self.runtime.spawn(open.serve());
    }

    fn statement(&self, shape: &Shape) -> Arc<Statement> {
        let mut all = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = all.get(shape) {
            return Arc::clone(statement);
        }
        let statement = Arc::new(shape.statement(self.pool.dialect()));
        if all.len() < MAX_STATEMENTS {
            all.insert(shape.clone(), Arc::clone(&statement));
        }
        statement
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that is open, from before it begins. However it ends, the next may begin.
struct Open {
    readings: Arc<Readings>,
    has_begun: bool,
}

impl Open {
    async fn serve(mut self) {
        let due = self.readings.pace.due(|came| self.readings.pool.gather(came));
        sleep_until(due).await;
        self.readings.asked.transactions.fetch_add(1, Ordering::Relaxed);
        let begun = within("begin to read", self.readings.pool.begin(Intent::Read)).await;
        // What is seen is settled by the first question, and that comes later.
        let waiting = self.admit();
        match begun {
            Ok(transaction) => {
                let (seat, wanted) = mpsc::channel(MAX_WAITING_QUESTIONS);
                for reader in waiting {
                    let _ = reader.send(Ok(seat.clone()));
                }
                drop(seat);
                let readings = Arc::clone(&self.readings);
                Reading { transaction, readings, known: HashMap::new(), failed: None }.answer_all(wanted).await;
            }
            Err(error) => {
                for reader in waiting {
                    let _ = reader.send(Err(error.shared()));
                }
            }
        }
    }

    fn admit(&mut self) -> Vec<oneshot::Sender<Result<Seat, LedgerError>>> {
        let mut state = self.readings.state();
        state.is_starting = false;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.readings.pace.came(waiting.len());
        self.has_begun = true;
        waiting
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.readings.state();
        state.open -= 1;
        if !self.has_begun {
            // Its task was ended: whoever waits is told so, rather than left waiting.
            state.is_starting = false;
            state.waiting.clear();
        }
        drop(state);
        self.readings.start(1);
    }
}

/// One state of the database.
struct Reading {
    transaction: Transaction,
    readings: Arc<Readings>,
    /// What was asked, and the answers: there will be no others.
    known: HashMap<Question, Rows>,
    /// Why nothing is answered any more.
    failed: Option<LedgerError>,
}

impl Reading {
    /// Answers until nobody can ask any more.
    async fn answer_all(mut self, mut wanted: mpsc::Receiver<Wanted>) {
        let mut batch = Vec::new();
        while wanted.recv_many(&mut batch, MAX_WAITING_QUESTIONS).await > 0 {
            self.answer(std::mem::take(&mut batch)).await;
        }
        // Nothing was written, and a connection that does not end its transaction is not used again.
        let _ = within("end reading", self.transaction.rollback()).await;
    }

    async fn answer(&mut self, batch: Vec<Wanted>) {
        let mut askers: HashMap<Question, Vec<oneshot::Sender<_>>> = HashMap::new();
        for Wanted { question, answer } in batch {
            match (self.known.get(&question), &self.failed) {
                (_, Some(failed)) => drop(answer.send(Err(failed.shared()))),
                (Some(rows), None) => drop(answer.send(Ok(Arc::clone(rows)))),
                (None, None) => askers.entry(question).or_default().push(answer),
            }
        }
        let mut shapes: HashMap<Shape, Vec<Question>> = HashMap::new();
        for question in askers.keys() {
            shapes.entry(question.shape().clone()).or_default().push(question.clone());
        }
        for (shape, questions) in shapes {
            let asked = self.ask(&shape, &questions).await;
            let mut answers = asked.as_ref().map(|all| all.iter().cloned());
            for question in questions {
                let rows = match &mut answers {
                    Ok(answers) => Ok(answers.next().unwrap_or_default()),
                    Err(error) => Err(error.shared()),
                };
                for asker in askers.remove(&question).into_iter().flatten() {
                    let _ = asker.send(match &rows {
                        Ok(rows) => Ok(Arc::clone(rows)),
                        Err(error) => Err(error.shared()),
                    });
                }
                if let Ok(rows) = rows
                    && self.known.len() < MAX_KNOWN
                    && rows.len() <= MAX_KNOWN_ROWS
                {
                    self.known.insert(question, rows);
                }
            }
            self.failed = asked.err().or(self.failed.take());
        }
    }

    /// Asks questions of one shape.
    async fn ask(&mut self, shape: &Shape, questions: &[Question]) -> Result<Vec<Rows>, LedgerError> {
        if let Some(failed) = &self.failed {
            return Err(failed.shared());
        }
        let act = "read rows";
        let statement = self.readings.statement(shape);
        let answered = shape.answered();
        let mut all = Vec::with_capacity(questions.len());
        if shape.is_for_many() {
            let values: Vec<&[Value]> = questions.iter().map(|question| &*question.values).collect();
            let asked = shape.asked();
            let fetched = self.transaction.fetch_each(&statement, &asked, &values, &answered);
            all.extend(within(act, fetched).await?.into_iter().map(Arc::new));
        } else {
            for question in questions {
                let fetched = self.transaction.fetch(statement.one.clone(), &answered, &question.values);
                all.push(Arc::new(within(act, fetched).await?));
            }
        }
        let asked = &self.readings.asked;
        asked.questions.fetch_add(questions.len() as u64, Ordering::Relaxed);
        let rows: usize = all.iter().map(|rows| rows.len()).sum();
        asked.rows.fetch_add(rows as u64, Ordering::Relaxed);
        Ok(all)
    }
}

/// Whoever should have answered is gone.
pub(super) fn lost() -> LedgerError {
    LedgerError::Query { act: "read rows", source: Arc::new(sqlx::Error::WorkerCrashed) }
}
