//! Rows through the host: sessions, commits and notifications of another program.

use super::*;
use crate::row::{ColumnType, ColumnValue, Row, RowColumn, RowFilter, RowTable, RowWrite, TableRow};
use crate::store::{MemoryRowStore, StoreName};

const COLUMNS: &[RowColumn] = &[
    RowColumn { name: "id", column_type: ColumnType::Text, is_key: true },
    RowColumn { name: "state", column_type: ColumnType::Text, is_key: false },
];

struct Job {
    id: String,
    state: String,
}

impl TableRow for Job {
    const TABLE: &'static RowTable = &RowTable { name: "job", columns: COLUMNS };

    fn from_row(row: &Row) -> Result<Self, String> {
        Ok(Self { id: row.text("id").to_string(), state: row.text("state").to_string() })
    }

    fn values(&self) -> Vec<ColumnValue> {
        vec![(&*self.id).into(), (&*self.state).into()]
    }
}

/// Operator that finishes all open jobs.
struct Finisher;

impl Operator for Finisher {
    fn name(&self) -> &str {
        "finisher"
    }

    fn declaration(&self) -> Declaration {
        let rows = BTreeSet::from([AccessRule::every(&Job::TABLE.resource())]);
        Declaration { inputs: rows.clone(), outputs: rows, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        let mut plan = Plan::nothing();
        for job in view.rows(&database()).list::<Job>(RowFilter::by("state", "open"))? {
            plan.push_row(RowWrite::put(&database(), &Job { state: "done".to_string(), ..job }));
        }
        Ok(plan)
    }
}

fn database() -> StoreName {
    StoreName::new("database")
}

fn open_job(id: &str) -> RowWrite {
    RowWrite::put(&database(), &Job { id: id.to_string(), state: "open".to_string() }).unconditional()
}

fn host(store: &MemoryRowStore, dry_run: bool) -> (Host, Handle) {
    let settings = HostSettings {
        clusters: BTreeMap::new(),
        topology: Topology::standalone(&ClusterName::new("main")),
        global: GlobalLimits::default(),
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run,
    };
    let (host, handle) = Host::new(settings, vec![(Arc::new(Finisher), Limits::none())]);
    (host.with_store(Arc::new(store.clone())), handle)
}

async fn wait_for_done(store: &MemoryRowStore, count: usize) {
    while store.rows().iter().filter(|row| row.text("state") == "done").count() < count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn rows_of_another_program_trigger_and_are_written() {
    let store = MemoryRowStore::new(database());
    store.commit_now(&[open_job("a"), open_job("b")]);
    let (host, handle) = host(&store, false);
    let host = tokio::spawn(host.run());
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, wait_for_done(&store, 2)).await.unwrap();
    store.commit_now(&[open_job("c")]);
    tokio::time::timeout(patience, wait_for_done(&store, 3)).await.unwrap();
    handle.stop().await;
    host.await.unwrap();
}

#[tokio::test]
async fn a_dry_run_commits_no_row() {
    let store = MemoryRowStore::new(database());
    store.commit_now(&[open_job("a")]);
    let (host, _handle) = host(&store, true);
    let finished = host.run_until_settled(Duration::from_secs(60)).await.unwrap();
    assert_eq!(finished.len(), 1, "brief waits are not reported");
    assert_eq!(finished[0].executed[0].write.result, WriteResult::DryRun);
    assert_eq!(store.rows()[0].text("state"), "open");
}
