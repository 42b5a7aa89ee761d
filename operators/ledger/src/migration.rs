//! How a database comes to have the tables: a new one, one of the original, one of an earlier version of ours.
//!
//! All steps and all credentials that are to be stored otherwise are one transaction.

mod credentials;
mod inspect;

use std::time::Duration;

use ring::digest::{SHA256, digest};

use crate::ledger::{Ledger, LedgerError, within, within_deadline};
use crate::pool::{Intent, Transaction};
use crate::statement::Dialect;
use crate::value::Value;

pub use inspect::Found;

/// The newest version of the original, whose tables are our first step.
pub const ORIGINAL_VERSION: i64 = 20;

/// How long one step may take: indexes of large tables.
const STEP_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// One step, in the words of both databases.
struct Step {
    version: i64,
    name: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
}

/// Steps are never changed once released: a new one is added.
const STEPS: &[Step] = &[
    Step {
        version: 1,
        name: "the tables of the original",
        postgres: include_str!("../migrations/postgres/0001_original.sql"),
        sqlite: include_str!("../migrations/sqlite/0001_original.sql"),
    },
    Step {
        version: 2,
        name: "wider columns, indexes, log of changes",
        postgres: include_str!("../migrations/postgres/0002_switchboard.sql"),
        sqlite: include_str!("../migrations/sqlite/0002_switchboard.sql"),
    },
    Step {
        version: 3,
        name: "which Argo CD serves whom",
        postgres: include_str!("../migrations/postgres/0003_fleet.sql"),
        sqlite: include_str!("../migrations/sqlite/0003_fleet.sql"),
    },
    Step {
        version: 4,
        name: "what is to be removed from clusters of tenants",
        postgres: include_str!("../migrations/postgres/0004_left.sql"),
        sqlite: include_str!("../migrations/sqlite/0004_left.sql"),
    },
    Step {
        version: 5,
        name: "what a backend was told",
        postgres: include_str!("../migrations/postgres/0005_settings.sql"),
        sqlite: include_str!("../migrations/sqlite/0005_settings.sql"),
    },
    Step {
        version: 6,
        name: "tokens of service accounts on clusters of tenants",
        postgres: include_str!("../migrations/postgres/0006_token.sql"),
        sqlite: include_str!("../migrations/sqlite/0006_token.sql"),
    },
    Step {
        version: 7,
        name: "changes are logged by statement",
        postgres: include_str!("../migrations/postgres/0007_statements.sql"),
        sqlite: include_str!("../migrations/sqlite/0007_statements.sql"),
    },
];

/// What a migration will do, or has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the database holds before.
    pub found: Found,
    /// Version and name of each step.
    pub steps: Vec<(i64, &'static str)>,
    /// How many credentials are stored otherwise than they should be now.
    pub credentials: usize,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.credentials == 0
    }
}

/// Why a database is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// It is the original's, but not the newest version of it.
    #[error(
        "could not take over the original's database: it is at version {0}, and only {ORIGINAL_VERSION} can be taken over"
    )]
    OldOriginal(i64),
    /// A migration of the original stopped half-way.
    #[error("could not take over the original's database: its migration to version {0} failed half-way")]
    Dirty(i64),
    /// A newer Switchboard was here.
    #[error("could not use the database: a newer version made step {0} of it")]
    Newer(i64),
    /// A step was made of other words than ours.
    #[error("could not use the database: its step {0} is not the one of this version")]
    Altered(i64),
    /// It has tables of our names, made by nobody we know.
    #[error("could not use the database: it has a table `{0}`, but neither the original nor Switchboard made it")]
    Foreign(String),
    /// A table is not what it should be.
    #[error("could not use the database: `{table}` has no column `{column}`")]
    Missing {
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
    },
    /// The tables are missing, or older than this program.
    #[error("could not use the database: its tables are not those of this version")]
    Behind,
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Ledger {
    /// What [`Ledger::migrate`] would do. Writes nothing and locks nothing.
    pub async fn plan_migration(&self) -> Result<Plan, MigrationError> {
        let mut transaction = within("begin to read", self.pool.begin(Intent::Read)).await?;
        let plan = self.plan_in(&mut transaction, true).await?;
        within("end reading", transaction.rollback()).await?;
        Ok(plan)
    }

    /// Makes the database what this version needs, and stores all credentials as they should be stored now.
    ///
    /// # Guarantees
    /// - Two that migrate at once do it once.                             // test: guarantees_two_that_migrate_at_once_do_it_once
    /// - Rows of the original are kept.                                   // test: guarantees_rows_of_the_original_are_kept
    pub async fn migrate(&self) -> Result<Plan, MigrationError> {
        let mut transaction = within("begin to migrate", self.pool.begin(Intent::Write)).await?;
        if self.pool.dialect() == Dialect::Postgres {
            // The number is ours alone; the lock goes with the transaction.
            let lock = "set local lock_timeout = '20s'; select pg_advisory_xact_lock(8317942301)";
            within("wait for another migration", transaction.script(lock)).await?;
        }
        let plan = self.plan_in(&mut transaction, true).await?;
        if matches!(plan.found, Found::Original | Found::Nothing) {
            within("begin the list of steps", transaction.script(STEPS_TABLE)).await?;
        }
        for step in STEPS {
            let left = plan.steps.iter().any(|(version, _)| *version == step.version);
            if left {
                let words = step.words(self.pool.dialect());
                within_deadline("make the tables", STEP_DEADLINE, transaction.script(words)).await?;
            }
            // The first step is what the original has made already.
            if left || (plan.found == Found::Original && step.version == STEPS[0].version) {
                self.note(&mut transaction, step).await?;
            }
        }
        if plan.credentials > 0 {
            credentials::store_again(&mut transaction, self.pool.dialect(), &self.sealing).await?;
        }
        within("commit the migration", transaction.commit()).await?;
        self.bell.send_modify(|rung| *rung += 1);
        Ok(plan)
    }

    /// Refuses a database that is not what this version needs. Credentials are not looked at.
    pub async fn check_schema(&self) -> Result<(), MigrationError> {
        let mut transaction = within("begin to read", self.pool.begin(Intent::Read)).await?;
        let plan = self.plan_in(&mut transaction, false).await?;
        within("end reading", transaction.rollback()).await?;
        if plan.steps.is_empty() { Ok(()) } else { Err(MigrationError::Behind) }
    }

    async fn plan_in(&self, transaction: &mut Transaction, credentials: bool) -> Result<Plan, MigrationError> {
        let dialect = self.pool.dialect();
        let found = inspect::inspect(transaction, dialect).await?;
        let done = match &found {
            Found::Nothing => 0,
            Found::Original => 1,
            Found::Ours { version } => *version,
        };
        let left = STEPS.iter().filter(|step| step.version > done);
        let steps = left.map(|step| (step.version, step.name)).collect();
        let credentials = match &found {
            Found::Nothing => 0,
            _ if !credentials => 0,
            _ => credentials::count_others(transaction, dialect, &self.sealing, done).await?,
        };
        Ok(Plan { found, steps, credentials })
    }

    async fn note(&self, transaction: &mut Transaction, step: &Step) -> Result<(), LedgerError> {
        let sql = "insert into switchboard_step (version, name, digest) values ($1, $2, $3)";
        let words = [
            Value::Integer(Some(step.version)),
            Value::from(step.name),
            Value::from(&*step.digest(self.pool.dialect())),
        ];
        within("note a step", transaction.execute(sql.to_string(), &words)).await.map(drop)
    }
}

/// Which steps were made.
const STEPS_TABLE: &str =
    "create table switchboard_step (version bigint primary key, name text not null, digest text not null)";

impl Step {
    fn words(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Sqlite => self.sqlite,
        }
    }

    fn digest(&self, dialect: Dialect) -> String {
        digest(&SHA256, self.words(dialect).as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
