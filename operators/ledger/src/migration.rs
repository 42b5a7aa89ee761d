//! Migration of a database: an empty one, one of managed-gitops, or one of an earlier version of Switchboard.
//!
//! All steps, and the resealing of credentials, are one transaction.

mod credentials;
mod schema;

use std::time::Duration;

use ring::digest::{SHA256, digest};

use crate::ledger::{Ledger, LedgerError, within, within_deadline};
use crate::pool::{Intent, Transaction};
use crate::statement::Dialect;
use crate::value::SqlValue;

pub use schema::SchemaState;

/// Newest schema version of managed-gitops, whose tables are the first step.
pub const MANAGED_GITOPS_VERSION: i64 = 20;

/// Deadline of one step; indexes of large tables take long.
const STEP_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// Migration step, with the SQL for both databases.
struct MigrationStep {
    version: i64,
    name: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
}

/// A released step never changes: its digest is stored. Add a new step instead.
const STEPS: &[MigrationStep] = &[
    MigrationStep {
        version: 1,
        name: "tables of managed-gitops",
        postgres: include_str!("../migrations/postgres/0001_managed_gitops.sql"),
        sqlite: include_str!("../migrations/sqlite/0001_managed_gitops.sql"),
    },
    MigrationStep {
        version: 2,
        name: "wider columns, indexes, log of changes",
        postgres: include_str!("../migrations/postgres/0002_switchboard.sql"),
        sqlite: include_str!("../migrations/sqlite/0002_switchboard.sql"),
    },
    MigrationStep {
        version: 3,
        name: "instances, placements and moves",
        postgres: include_str!("../migrations/postgres/0003_fleet.sql"),
        sqlite: include_str!("../migrations/sqlite/0003_fleet.sql"),
    },
    MigrationStep {
        version: 4,
        name: "service accounts on tenants' clusters",
        postgres: include_str!("../migrations/postgres/0004_service_accounts.sql"),
        sqlite: include_str!("../migrations/sqlite/0004_service_accounts.sql"),
    },
    MigrationStep {
        version: 5,
        name: "settings of the backend",
        postgres: include_str!("../migrations/postgres/0005_settings.sql"),
        sqlite: include_str!("../migrations/sqlite/0005_settings.sql"),
    },
    MigrationStep {
        version: 6,
        name: "tokens of these service accounts",
        postgres: include_str!("../migrations/postgres/0006_service_account_tokens.sql"),
        sqlite: include_str!("../migrations/sqlite/0006_service_account_tokens.sql"),
    },
    MigrationStep {
        version: 7,
        name: "log of changes by statement",
        postgres: include_str!("../migrations/postgres/0007_statements.sql"),
        sqlite: include_str!("../migrations/sqlite/0007_statements.sql"),
    },
    MigrationStep {
        version: 8,
        name: "names of move steps",
        postgres: include_str!("../migrations/postgres/0008_move_steps.sql"),
        sqlite: include_str!("../migrations/sqlite/0008_move_steps.sql"),
    },
    MigrationStep {
        version: 9,
        name: "indexes for queries without one",
        postgres: include_str!("../migrations/postgres/0009_indexes.sql"),
        sqlite: include_str!("../migrations/sqlite/0009_indexes.sql"),
    },
];

/// Steps that a migration will apply, or has applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationPlan {
    /// Schema before the migration.
    pub schema: SchemaState,
    /// Version and name of each step.
    pub steps: Vec<(i64, &'static str)>,
    /// Number of credentials to reseal.
    pub credentials: usize,
}

impl MigrationPlan {
    /// Whether the migration has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.credentials == 0
    }
}

/// Error for which a database is left unchanged.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The schema is that of managed-gitops, at an older version.
    #[error(
        "could not adopt the managed-gitops database: its schema version is {0}, and only version {MANAGED_GITOPS_VERSION} is supported"
    )]
    OldManagedGitops(i64),
    /// A migration of managed-gitops failed half-way.
    #[error("could not adopt the managed-gitops database: its migration to version {0} is incomplete")]
    Dirty(i64),
    /// A newer version of Switchboard migrated the database.
    #[error("could not use the database: a newer version of Switchboard applied migration step {0}")]
    Newer(i64),
    /// The SQL of an applied step differs from this version's.
    #[error("could not use the database: its migration step {0} differs from the one of this version")]
    Altered(i64),
    /// Tables of these names exist, but neither managed-gitops nor Switchboard created them.
    #[error("could not use the database: table `{0}` belongs to neither managed-gitops nor Switchboard")]
    Foreign(String),
    /// A table lacks a column.
    #[error("could not use the database: `{table}` has no column `{column}`")]
    MissingColumn {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: String,
    },
    /// The tables are missing, or older than this version.
    #[error("could not use the database: its schema is not the one of this version")]
    OutOfDate,
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Ledger {
    /// Returns the plan of [`Ledger::migrate`]. Writes nothing and takes no locks.
    pub async fn plan_migration(&self) -> Result<MigrationPlan, MigrationError> {
        let mut transaction = within("begin a read transaction", self.pool.begin(Intent::Read)).await?;
        let plan = self.plan_in(&mut transaction, true).await?;
        within("end the read transaction", transaction.rollback()).await?;
        Ok(plan)
    }

    /// Migrates the database to this version, and reseals all credentials with the current key.
    ///
    /// # Guarantees
    /// - Concurrent migrations run once.                                   // test: guarantees_concurrent_migrations_run_once
    /// - Rows of managed-gitops are kept.                                  // test: guarantees_rows_of_managed_gitops_are_kept
    pub async fn migrate(&self) -> Result<MigrationPlan, MigrationError> {
        let mut transaction = within("begin the migration", self.pool.begin(Intent::Write)).await?;
        if self.pool.dialect() == Dialect::Postgres {
            // Switchboard's own lock number; the transaction releases the lock.
            let lock = "set local lock_timeout = '20s'; select pg_advisory_xact_lock(8317942301)";
            within("wait for another migration", transaction.script(lock)).await?;
        }
        let plan = self.plan_in(&mut transaction, true).await?;
        if matches!(plan.schema, SchemaState::ManagedGitops | SchemaState::Empty) {
            within("create the table of migration steps", transaction.script(STEPS_TABLE)).await?;
        }
        for step in STEPS {
            let is_pending = plan.steps.iter().any(|(version, _)| *version == step.version);
            if is_pending {
                let sql = step.sql(self.pool.dialect());
                within_deadline("create the tables", STEP_DEADLINE, transaction.script(sql)).await?;
            }
            // The first step consists of the tables that managed-gitops has created already.
            if is_pending || (plan.schema == SchemaState::ManagedGitops && step.version == STEPS[0].version) {
                self.record_step(&mut transaction, step).await?;
            }
        }
        if plan.credentials > 0 {
            credentials::reseal(&mut transaction, self.pool.dialect(), &self.sealer).await?;
        }
        within("commit the migration", transaction.commit()).await?;
        self.commit_notifier.send_modify(|count| *count += 1);
        Ok(plan)
    }

    /// Fails if the schema is not that of this version. Credentials are not checked.
    pub async fn check_schema(&self) -> Result<(), MigrationError> {
        let mut transaction = within("begin a read transaction", self.pool.begin(Intent::Read)).await?;
        let plan = self.plan_in(&mut transaction, false).await?;
        within("end the read transaction", transaction.rollback()).await?;
        if plan.steps.is_empty() { Ok(()) } else { Err(MigrationError::OutOfDate) }
    }

    async fn plan_in(&self, transaction: &mut Transaction, credentials: bool) -> Result<MigrationPlan, MigrationError> {
        let dialect = self.pool.dialect();
        let found = schema::inspect(transaction, dialect).await?;
        let done = match &found {
            SchemaState::Empty => 0,
            SchemaState::ManagedGitops => 1,
            SchemaState::Switchboard { version } => *version,
        };
        let pending = STEPS.iter().filter(|step| step.version > done);
        let steps = pending.map(|step| (step.version, step.name)).collect();
        let credentials = match &found {
            SchemaState::Empty => 0,
            _ if !credentials => 0,
            _ => credentials::count_outdated(transaction, dialect, &self.sealer, done).await?,
        };
        Ok(MigrationPlan { schema: found, steps, credentials })
    }

    async fn record_step(&self, transaction: &mut Transaction, step: &MigrationStep) -> Result<(), LedgerError> {
        let sql = "insert into switchboard_step (version, name, digest) values ($1, $2, $3)";
        let values = [
            SqlValue::Integer(Some(step.version)),
            SqlValue::from(step.name),
            SqlValue::from(&*step.digest(self.pool.dialect())),
        ];
        within("record a migration step", transaction.execute(sql.to_string(), &values)).await.map(drop)
    }
}

/// Table of the applied steps.
const STEPS_TABLE: &str =
    "create table switchboard_step (version bigint primary key, name text not null, digest text not null)";

impl MigrationStep {
    fn sql(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Sqlite => self.sqlite,
        }
    }

    fn digest(&self, dialect: Dialect) -> String {
        digest(&SHA256, self.sql(dialect).as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
