//! Commits: lists of changes that are committed together, each made whole or not at all.
//!
//! Whoever comes while a commit is under way waits for the next one, which takes all that wait. A list that must be refused takes no
//! other along: rows are locked and compared before anything is written, and what the database itself refuses is tried again one by one.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::sleep_until;

use super::commit::{self, alike, sealed, texts};
use super::pace::Pace;
use super::question::kinds;
use super::view::open;
use super::{Ledger, LedgerError, MAX_COMMIT_ATTEMPTS, within};
use crate::change::Change;
use crate::key::Key;
use crate::pool::{Intent, Statement, Transaction};
use crate::row::{Table, key_of};
use crate::statement::{Dialect, Lock, each};
use crate::value::{Kind, Value};

/// How many lists are committed at once.
const MAX_LISTS: usize = 64;

/// A longer list is committed alone.
const MAX_CHANGES: usize = 64;

/// A list of changes, and who waits for it.
#[derive(Debug)]
pub(super) struct Entry {
    changes: Vec<Change>,
    /// What is written, judged.
    rows: Vec<Option<Vec<Value>>>,
    done: oneshot::Sender<Result<(), LedgerError>>,
}

/// Whoever waits to commit.
#[derive(Debug, Default)]
pub(super) struct Commits {
    pace: Pace,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Entry>,
    is_busy: bool,
}

impl Commits {
    /// Commits a list, with others that wait at the same time.
    pub async fn make(ledger: &Ledger, changes: &[Change]) -> Result<(), LedgerError> {
        let rows = commit::prepare(changes)?;
        let (done, told) = oneshot::channel();
        if ledger.commits.push(Entry { changes: changes.to_vec(), rows, done }) {
            ledger.runtime.spawn(Busy { ledger: ledger.clone(), is_over: false }.run());
        }
        let lost = || LedgerError::Query { act: "commit changes", source: Arc::new(sqlx::Error::WorkerCrashed) };
        told.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Lets one wait; says whether nobody commits right now.
    fn push(&self, entry: Entry) -> bool {
        let mut state = self.state();
        state.waiting.push_back(entry);
        !std::mem::replace(&mut state.is_busy, true)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are committed next; none if nobody waits, and then whoever comes begins anew.
    fn take(&self) -> Vec<Entry> {
        let mut state = self.state();
        let batch = take(&mut state.waiting);
        state.is_busy = !batch.is_empty();
        if state.is_busy {
            // Those who are left wait already: for them there is nothing to gather.
            self.pace.came(if state.waiting.is_empty() { batch.len() } else { 1 });
        }
        batch
    }
}

/// The one who commits.
struct Busy {
    ledger: Ledger,
    is_over: bool,
}

impl Busy {
    async fn run(mut self) {
        loop {
            let due = self.ledger.commits.pace.due(|came| self.ledger.pool.gather(came));
            sleep_until(due).await;
            let batch = self.ledger.commits.take();
            if batch.is_empty() {
                self.is_over = true;
                return;
            }
            make(&self.ledger, batch).await;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // Ended in the middle, with its runtime: whoever waits is told so, rather than left waiting.
        if !self.is_over {
            let mut state = self.ledger.commits.state();
            state.is_busy = false;
            state.waiting.clear();
        }
    }
}

/// What a batch has to do with rows.
#[derive(Default)]
struct Touched {
    written: HashSet<(&'static str, Key)>,
    ensured: HashSet<(&'static str, Key)>,
    held: HashSet<(&'static str, Key)>,
}

impl Touched {
    /// Takes a list in, if the order of this one and the others does not matter: nobody writes what another one writes or relies on.
    fn takes(&mut self, entry: &Entry) -> bool {
        let touched = || entry.changes.iter().map(|change| (change, (change.table().name, change.key())));
        let is_free = |(change, row): (&Change, (&'static str, Key))| match change {
            Change::Ensure { .. } => !self.written.contains(&row) && !self.held.contains(&row),
            Change::Hold { .. } => !self.written.contains(&row) && !self.ensured.contains(&row),
            _ => !self.written.contains(&row) && !self.ensured.contains(&row) && !self.held.contains(&row),
        };
        let is_free = touched().all(is_free);
        if is_free {
            for (change, row) in touched() {
                match change {
                    Change::Ensure { .. } => self.ensured.insert(row),
                    Change::Hold { .. } => self.held.insert(row),
                    _ => self.written.insert(row),
                };
            }
        }
        is_free
    }
}

/// Takes the first that waits, and all that can go with it. Those that cannot keep their order.
fn take(waiting: &mut VecDeque<Entry>) -> Vec<Entry> {
    let Some(first) = waiting.pop_front() else { return Vec::new() };
    let mut touched = Touched::default();
    let is_alone = first.is_alone() || !touched.takes(&first);
    let mut batch = vec![first];
    if is_alone {
        return batch;
    }
    let mut left = VecDeque::new();
    while let Some(entry) = waiting.pop_front() {
        let has_room = batch.len() < MAX_LISTS && !entry.is_alone();
        match has_room && touched.takes(&entry) {
            true => batch.push(entry),
            false => left.push_back(entry),
        }
    }
    *waiting = left;
    batch
}

impl Entry {
    /// Whether it is committed by itself: its own order matters row by row, it is long, or it counts.
    fn is_alone(&self) -> bool {
        let mut seen = HashSet::new();
        let is_twice = |change: &Change| !seen.insert((change.table().name, change.key()));
        self.changes.len() > MAX_CHANGES
            || self.changes.iter().any(|change| matches!(change, Change::Room { .. }))
            || self.changes.iter().any(is_twice)
    }

    /// What it does, without with what.
    fn shape(&self) -> Vec<(std::mem::Discriminant<Change>, &'static str)> {
        self.changes.iter().map(|change| (std::mem::discriminant(change), change.table().name)).collect()
    }
}

async fn make(ledger: &Ledger, batch: Vec<Entry>) {
    let mut patience = Patience::default();
    while batch.len() > 1 {
        match together(ledger, &batch).await {
            Ok(refused) => {
                ledger.ring();
                for (entry, refusal) in batch.into_iter().zip(refused) {
                    let _ = entry.done.send(refusal.map_or(Ok(()), Err));
                }
                return;
            }
            Err(error) if patience.allows(&error) => {}
            // Nobody knows what was done.
            Err(error) if error.is_silence() => {
                for entry in batch {
                    let _ = entry.done.send(Err(error.shared()));
                }
                return;
            }
            // Nothing of it is done. Whose fault it is shows when each is made by itself.
            Err(_) => break,
        }
    }
    for entry in batch {
        let made = alone(ledger, &entry).await;
        let _ = entry.done.send(made);
    }
}

async fn alone(ledger: &Ledger, entry: &Entry) -> Result<(), LedgerError> {
    let mut patience = Patience::default();
    loop {
        ledger.asked.transactions.fetch_add(1, Ordering::Relaxed);
        match commit::attempt(ledger, &entry.changes, &entry.rows).await {
            Err(error) if patience.allows(&error) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                ledger.ring();
                return Ok(());
            }
        }
    }
}

/// How often is tried again what the database gave up because of others.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    fn allows(&mut self, error: &LedgerError) -> bool {
        self.0 += 1;
        error.is_passing() && self.0 < MAX_COMMIT_ATTEMPTS
    }
}

/// Makes all lists of a batch in one transaction, but for those that are refused: says which, and why.
async fn together(ledger: &Ledger, batch: &[Entry]) -> Result<Vec<Option<LedgerError>>, LedgerError> {
    ledger.asked.transactions.fetch_add(1, Ordering::Relaxed);
    let mut transaction = within("begin to write", ledger.pool.begin(Intent::Write)).await?;
    let refused = lock(&mut transaction, ledger, batch).await?;
    let made: Vec<&Entry> = batch.iter().zip(&refused).filter(|(_, no)| no.is_none()).map(|(one, _)| one).collect();
    let mut shapes: BTreeMap<Vec<&'static str>, Vec<Vec<&Entry>>> = BTreeMap::new();
    for entry in made {
        let alike = shapes.entry(entry.changes.iter().map(|change| change.table().name).collect()).or_default();
        match alike.iter_mut().find(|group| group.first().is_some_and(|first| first.shape() == entry.shape())) {
            Some(group) => group.push(entry),
            None => alike.push(vec![entry]),
        }
    }
    for group in shapes.values().flatten() {
        write(&mut transaction, ledger, group).await?;
    }
    within("commit changes", transaction.commit()).await?;
    Ok(refused)
}

/// Locks every row that must be as it was read, and says whose is not.
async fn lock(
    transaction: &mut Transaction,
    ledger: &Ledger,
    batch: &[Entry],
) -> Result<Vec<Option<LedgerError>>, LedgerError> {
    // In one order, whoever locks: two that meet wait for each other once.
    type Locked<'a> = BTreeMap<Key, Vec<(usize, &'a [Value])>>;
    let mut all: BTreeMap<(&'static str, bool), (&'static Table, Locked<'_>)> = BTreeMap::new();
    for (at, entry) in batch.iter().enumerate() {
        for change in &entry.changes {
            let (table, was, is_written) = match change {
                Change::Update { table, was, .. } => (*table, was, true),
                Change::Hold { table, was } => (*table, was, false),
                _ => continue,
            };
            let rows = &mut all.entry((table.name, is_written)).or_insert_with(|| (table, BTreeMap::new())).1;
            rows.entry(key_of(table, was)).or_default().push((at, was));
        }
    }
    let mut refused: Vec<Option<LedgerError>> = batch.iter().map(|_| None).collect();
    for ((_, is_written), (table, rows)) in all {
        let lock = if is_written { Lock::Update } else { Lock::Share };
        let statement = Statement { one: transaction.dialect().lock(table, lock), each: each::lock(table, lock) };
        let values: Vec<Vec<Value>> = rows.keys().map(texts).collect();
        let values: Vec<&[Value]> = values.iter().map(Vec::as_slice).collect();
        let key_kinds: Vec<Kind> = table.keys().map(|column| column.kind).collect();
        let kinds = kinds(table);
        let found = transaction.fetch_each(&statement, &key_kinds, &values, &kinds);
        let found = within("read rows that are to change", found).await?;
        for ((key, readers), mut now) in rows.into_iter().zip(found) {
            let now = now.pop().map(|values| open(table, values, &ledger.sealing)).transpose()?;
            for (at, was) in readers {
                if !now.as_ref().is_some_and(|now| is_same(now, was)) {
                    refused[at] = Some(LedgerError::Changed { table: table.name, key: key.to_string() });
                }
            }
        }
    }
    Ok(refused)
}

fn is_same(now: &[Value], was: &[Value]) -> bool {
    now.len() == was.len() && now.iter().zip(was).all(|(now, was)| alike(now, was))
}

/// Writes lists of one shape, change by change, each for all of them at once.
async fn write(transaction: &mut Transaction, ledger: &Ledger, group: &[&Entry]) -> Result<(), LedgerError> {
    let Some(first) = group.first() else { return Ok(()) };
    for (at, change) in first.changes.iter().enumerate() {
        let table = change.table();
        let Some(statement) = statement(change, transaction.dialect()) else { continue };
        let mut rows = Vec::with_capacity(group.len());
        for entry in group {
            rows.push(match (&entry.changes[at], &entry.rows[at]) {
                (change, Some(row)) => sealed(table, &change.key(), row, &ledger.sealing)?,
                (change, None) => texts(&change.key()),
            });
        }
        let kinds: Vec<Kind> = match change {
            Change::Delete { .. } => table.keys().map(|column| column.kind).collect(),
            _ => kinds(table),
        };
        within("write rows", transaction.execute_each(statement, &kinds, &rows)).await?;
    }
    Ok(())
}

fn statement(change: &Change, dialect: Dialect) -> Option<Statement> {
    let table = change.table();
    let (one, each) = match change {
        Change::Insert { .. } => (dialect.insert(table), each::insert(table)),
        Change::Ensure { .. } => (dialect.ensure(table), each::ensure(table)),
        Change::Put { .. } => (dialect.put(table), each::put(table)),
        Change::Update { .. } => (dialect.update(table), each::update(table)),
        Change::Delete { .. } => (dialect.delete(table), each::delete(table)),
        Change::Hold { .. } | Change::Room { .. } => return None,
    };
    Some(Statement { one, each })
}
