//! Rows in views, over a store in memory.

mod replay;
mod writes;

use futures::FutureExt;

use super::*;
use crate::decision::Decision;
use crate::row::{ColumnType, ColumnValue, Row, RowColumn, RowFilter, RowTable, RowWrite, TableRow};
use crate::row_cache::{MAX_ROW_CACHE_BYTES, RowCommand};
use crate::store::{MemoryRowStore, MemorySession, StoreName, commit_then_write};

const COLUMNS: &[RowColumn] = &[
    RowColumn { name: "id", column_type: ColumnType::Text, is_key: true },
    RowColumn { name: "owner", column_type: ColumnType::Text, is_key: false },
    RowColumn { name: "next", column_type: ColumnType::Text, is_key: false },
    RowColumn { name: "token", column_type: ColumnType::Secret, is_key: false },
];
static PARCELS: RowTable = RowTable { name: "parcel", columns: COLUMNS };

#[derive(Clone, Debug, PartialEq)]
struct Parcel {
    id: String,
    owner: String,
    next: String,
    token: ColumnValue,
}

impl TableRow for Parcel {
    const TABLE: &'static RowTable = &PARCELS;

    fn from_row(row: &Row) -> Result<Self, String> {
        let text = |column| row.text(column).to_string();
        if row.value("token").is_redacted() && row.text("owner") == "needs-token" {
            return Err("its token is redacted".to_string());
        }
        Ok(Self { id: text("id"), owner: text("owner"), next: text("next"), token: row.value("token").clone() })
    }

    fn values(&self) -> Vec<ColumnValue> {
        vec![(&*self.id).into(), (&*self.owner).into(), (&*self.next).into(), self.token.clone()]
    }
}

fn parcel(id: &str, owner: &str, next: &str) -> Parcel {
    Parcel { id: id.into(), owner: owner.into(), next: next.into(), token: ColumnValue::Null }
}

fn database() -> StoreName {
    StoreName::new("database")
}

fn put_row(row: &Parcel) -> RowWrite {
    RowWrite::put(&database(), row).unconditional()
}

struct RowOperator(&'static str, CoreDecide);

impl Operator for RowOperator {
    fn name(&self) -> &str {
        self.0
    }

    fn declaration(&self) -> Declaration {
        let rules = BTreeSet::from([AccessRule::every(&PARCELS.resource()), AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: rules.clone(), outputs: rules, service_account: None, units: Units::Whole }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        self.1(unit, view)
    }
}

fn of_rows(
    name: &'static str,
    decide: impl Fn(&Unit, &View) -> Result<Plan, DecideError> + Send + Sync + 'static,
) -> Arc<dyn Operator> {
    Arc::new(RowOperator(name, Box::new(decide)))
}

/// Core over a store, driven until nothing is left to do.
struct RowTest {
    core: Core,
    store: MemoryRowStore,
    session: Option<MemorySession>,
    now: u64,
    sessions: usize,
    /// Runs that journal and status show.
    finished: Vec<FinishedRun>,
    dry_run: bool,
    /// Commit of another writer before the next commit of a run.
    other_commit: Option<RowWrite>,
}

impl RowTest {
    fn of(operators: impl IntoIterator<Item = Arc<dyn Operator>>, rows: &[Parcel]) -> Self {
        let store = MemoryRowStore::new(database());
        store.commit_now(&rows.iter().map(put_row).collect::<Vec<_>>());
        let backoff = std::time::Duration::from_secs(10);
        let limits = Limits { backoff_first: backoff, backoff_max: backoff, ..Limits::none() };
        let mut core = kernel(operators, &limits);
        core.add_store(&database(), MAX_ROW_CACHE_BYTES);
        let (session, other_commit) = (None, None);
        let mut test =
            Self { core, store, session, now: 0, sessions: 0, finished: Vec::new(), dry_run: false, other_commit };
        test.settle();
        test
    }

    /// Commits as another program, and returns the number of runs that follow.
    fn commit(&mut self, rows: &[RowWrite]) -> usize {
        let before = self.finished.len();
        self.store.commit_now(rows);
        self.notify();
        self.settle();
        self.finished.len() - before
    }

    fn notify(&mut self) {
        assert_eq!(self.core.observe_store(Timestamp(self.now), &database(), StoreEvent::Changed), None);
    }

    fn settle(&mut self) {
        for _ in 0..200 {
            let commands = self.core.poll(Timestamp(self.now));
            let is_idle = commands.is_empty();
            for command in commands {
                match command {
                    CoreCommand::Rows(_, command) => self.read(command),
                    CoreCommand::Run(run) => self.run(&run),
                    CoreCommand::Watch(_) | CoreCommand::Unwatch(_) => {}
                }
            }
            match self.core.next().filter(|next| next.0 < self.now + 500) {
                Some(next) if is_idle => self.now = next.0.max(self.now + 1),
                None if is_idle => return,
                _ => {}
            }
        }
        panic!("does not settle");
    }

    fn read(&mut self, command: RowCommand) {
        let event = match command {
            RowCommand::Begin(since) => {
                self.sessions += 1;
                let (log, session) = self.store.begin_now(since.as_ref());
                self.session = Some(session);
                StoreEvent::Opened(log)
            }
            RowCommand::Fetch(fetch) => StoreEvent::Fetched(self.session.as_ref().unwrap().fetch_now(fetch)),
            RowCommand::End => {
                self.session = None;
                return;
            }
        };
        self.core.observe_store(Timestamp(self.now), &database(), event);
    }

    fn run(&mut self, run: &UnitRun) {
        let finished = match decide(&mut self.core, self.now, run) {
            RunProgress::Finished(finished) => *finished,
            RunProgress::Write { rows, writes, .. } => {
                assert!(writes.is_empty(), "the test has no cluster");
                if let Some(other) = self.other_commit.take() {
                    self.store.commit_now(&[other]);
                }
                let done = commit_then_write(Some(&self.store), rows, self.dry_run, async { vec![] }, vec![]);
                let executed = done.now_or_never().unwrap();
                self.core.finish_writes(Timestamp(self.now), &run.unit, run.id, executed, 1).unwrap()
            }
        };
        if finished.decision.waits_for_rows_since(Timestamp(self.now)).is_none() {
            self.finished.push(finished);
        }
    }

    fn last(&self) -> &Decision {
        &self.finished.last().unwrap().decision
    }

    fn row(&self, id: &str) -> Option<Parcel> {
        let rows = self.store.rows();
        rows.iter().find(|row| *row.key.name == *id).map(|row| Parcel::from_row(row).unwrap())
    }
}

#[test]
fn a_chain_of_reads_costs_one_session_and_one_recorded_run() {
    let follow = |_: &Unit, view: &View| {
        let database = database();
        let rows = view.rows(&database);
        let mut id = "a".to_string();
        while let Some(parcel) = rows.get::<Parcel>(&id)? {
            id = parcel.next;
        }
        rows.list::<Parcel>(RowFilter::by("owner", "ada"))?;
        Ok(Plan::nothing())
    };
    let chain = [parcel("a", "ada", "b"), parcel("b", "ada", "c"), parcel("c", "bob", "")];
    let mut test = RowTest::of([of_rows("follow", follow)], &chain);
    assert_eq!((test.sessions, test.finished.len()), (1, 1));
    let decision = test.last().clone();
    assert_eq!((decision.causes.as_slice(), decision.gets.len()), ([Cause::Started].as_slice(), 4));
    assert_eq!(decision.lists[0].1.len(), 2);
    // The session that reads the log also reads what the triggered unit misses.
    assert_eq!(test.commit(&[put_row(&parcel("c", "bob", "d"))]), 1);
    assert_eq!(test.sessions, 2);
    let object = PARCELS.row_key(&database(), "c");
    assert!(matches!(&test.last().causes[..], [Cause::Changed { object: changed, .. }] if *changed == object));
    assert!(test.core.is_quiet());
}

#[test]
fn a_unit_runs_for_changes_of_what_it_read_alone() {
    let reads = |_: &Unit, view: &View| {
        let database = database();
        let rows = view.rows(&database);
        rows.get::<Parcel>("a")?;
        rows.list::<Parcel>(RowFilter::by("owner", "ada"))?;
        rows.below::<Parcel>(RowFilter::by("owner", "bob"), 2)?;
        rows.sample::<Parcel>(RowFilter::by("owner", "eve"))?;
        Ok(Plan::nothing())
    };
    let mut test = RowTest::of([of_rows("reads", reads)], &[]);
    let mut runs = |id: &str, owner: &str| test.commit(&[put_row(&parcel(id, owner, ""))]);
    assert_eq!(runs("a", "eve"), 1, "absent before");
    assert_eq!(runs("b", "ada"), 1, "enters the list");
    assert_eq!(runs("b", "joe"), 1, "leaves the list");
    assert_eq!(runs("b", "max"), 0, "is in no list");
    assert_eq!(runs("c", "eve"), 0, "is in a sample");
    assert_eq!(runs("d", "bob"), 0, "is fewer than two");
    assert_eq!(runs("e", "bob"), 1, "is no longer fewer");
    assert_eq!(runs("f", "bob"), 0, "is not fewer either");
}

#[test]
fn independent_reads_wait_together() {
    let reads = |_: &Unit, view: &View| {
        let database = database();
        let of = |id: &'static str| move |rows: &crate::view::RowView<'_>| rows.get::<Parcel>(id);
        let (a, b, c) = view.rows(&database).all((of("a"), of("b"), of("c")))?;
        assert!(a.is_some() && b.is_none() && c.is_none());
        Ok(Plan::nothing())
    };
    let mut core = kernel([of_rows("reads", reads)], &Limits::none());
    core.add_store(&database(), MAX_ROW_CACHE_BYTES);
    let run = runs(core.poll(Timestamp(0))).remove(0);
    let (plan, reads) = run.decide();
    assert!(matches!(plan, Err(DecideError::NotCached(_))));
    assert_eq!(reads.rows.missing.len(), 3);
}

#[test]
fn a_change_during_a_run_is_not_lost() {
    let reads = |_: &Unit, view: &View| {
        let database = database();
        view.rows(&database).list::<Parcel>(RowFilter::by("owner", "ada"))?;
        Ok(Plan::nothing())
    };
    let mut test = RowTest::of([of_rows("reads", reads)], &[]);
    test.core.reconcile(Timestamp(test.now), &OperatorName::new("reads"), None);
    let run = runs(test.core.poll(Timestamp(test.now))).remove(0);
    let (plan, reads) = run.decide();
    test.store.commit_now(&[put_row(&parcel("a", "ada", ""))]);
    test.notify();
    test.settle();
    let before = test.finished.len();
    let result = DecideResult { plan, reads, decide_us: 1 };
    test.core.finish_decide(Timestamp(test.now), &run.unit, run.id, result).unwrap();
    test.settle();
    assert_eq!(test.finished.len(), before + 1);
    assert_eq!(test.last().lists[0].1.len(), 1);
}

#[test]
fn a_trimmed_log_runs_every_reader_again() {
    let reads = |_: &Unit, view: &View| {
        let database = database();
        view.rows(&database).get::<Parcel>("a")?;
        Ok(Plan::nothing())
    };
    let mut test = RowTest::of([of_rows("reads", reads)], &[]);
    test.store.commit_now(&[put_row(&parcel("a", "ada", ""))]);
    test.store.trim_log();
    test.notify();
    test.settle();
    assert_eq!((test.finished.len(), test.last().gets[0].1.is_some()), (2, true));
}

#[test]
fn undeclared_tables_and_unknown_stores_are_refused() {
    static OTHER: RowTable = RowTable { name: "other", columns: COLUMNS };
    let undeclared = |_: &Unit, view: &View| view.rows(&database()).get_row(&OTHER, "a").map(|_| Plan::nothing());
    let unknown =
        |_: &Unit, view: &View| view.rows(&StoreName::new("else")).get::<Parcel>("a").map(|_| Plan::nothing());
    let test = RowTest::of([of_rows("undeclared", undeclared), of_rows("unknown", unknown)], &[]);
    let message = |name: &str| {
        let run = test.finished.iter().find(|run| *run.decision.unit.operator.0 == *name).unwrap();
        let RunOutcome::Failed { message } = &run.decision.outcome else { panic!("{:?}", run.decision.outcome) };
        message.clone()
    };
    assert_eq!(message("undeclared"), "other.rows is not among the operator's declared inputs");
    assert_eq!(message("unknown"), "store else is not connected");
}

#[test]
fn a_failing_store_is_shown_and_retried() {
    let reads = |_: &Unit, view: &View| view.rows(&database()).get::<Parcel>("a").map(|_| Plan::nothing());
    let mut core = kernel([of_rows("reads", reads)], &Limits::none());
    core.add_store(&database(), MAX_ROW_CACHE_BYTES);
    let run = runs(core.poll(Timestamp(0))).remove(0);
    decide(&mut core, 0, &run);
    let begins = |commands: Vec<CoreCommand>| {
        commands.iter().any(|command| matches!(command, CoreCommand::Rows(_, RowCommand::Begin(_))))
    };
    assert!(begins(core.poll(Timestamp(0))));
    let failed = || StoreEvent::Failed("connection refused".to_string());
    assert_eq!(core.observe_store(Timestamp(1), &database(), failed()).as_deref(), Some("connection refused"));
    assert!(!begins(core.poll(Timestamp(2))) && !core.is_quiet());
    assert!(begins(core.poll(core.next().unwrap())));
    assert_eq!(core.observe_store(Timestamp(200), &database(), failed()), None, "logged once");
    assert_eq!(core.unsettled_reasons(), ["reads all waits for parcel.rows to be cached: connection refused"]);
    let health = |core: &Core| core.unit(Timestamp(0), &run.unit).unwrap().health;
    assert_ne!(health(&core), Health::Waiting);
    core.poll(Timestamp(QUIET_PARK_MS));
    assert_eq!(health(&core), Health::Waiting);
}
