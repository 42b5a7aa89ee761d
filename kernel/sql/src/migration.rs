//! Migration of a database: an empty one, one of an adopted program, or one of an earlier version of Switchboard.
//!
//! All steps, and the resealing of credentials, are one transaction.

mod credentials;
mod inspection;

use std::time::Duration;

use crate::ledger::{Ledger, LedgerError, within, within_deadline};
use crate::pool::{Intent, Transaction};
use crate::schema::MigrationStep;
use crate::statement::Dialect;
use crate::value::SqlValue;

pub use inspection::SchemaState;

/// Deadline of one step; indexes of large tables take long.
const STEP_DEADLINE: Duration = Duration::from_secs(10 * 60);

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
    /// The schema is that of an adopted program, at another version.
    #[error(
        "could not adopt the {program} database: its schema version is {found}, and only version {supported} is supported"
    )]
    UnsupportedVersion {
        /// Name of the program.
        program: &'static str,
        /// Version of the database.
        found: i64,
        /// Version that can be adopted.
        supported: i64,
    },
    /// A migration of an adopted program failed half-way.
    #[error("could not adopt the {program} database: its migration to version {version} is incomplete")]
    Dirty {
        /// Name of the program.
        program: &'static str,
        /// Version of the incomplete migration.
        version: i64,
    },
    /// A newer version of Switchboard migrated the database.
    #[error("could not use the database: a newer version of Switchboard applied migration step {0}")]
    Newer(i64),
    /// The SQL of an applied step differs from this version's.
    #[error("could not use the database: its migration step {0} differs from the one of this version")]
    Altered(i64),
    /// Tables of these names exist, but another program created them.
    #[error("could not use the database: table `{table}` belongs to {owners}")]
    Foreign {
        /// Name of the table.
        table: &'static str,
        /// Programs that the table does not belong to.
        owners: String,
    },
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
    /// - Rows of an adopted program are kept.                              // test: guarantees_rows_of_managed_gitops_are_kept
    pub async fn migrate(&self) -> Result<MigrationPlan, MigrationError> {
        let mut transaction = within("begin the migration", self.pool.begin(Intent::Write)).await?;
        if self.pool.dialect() == Dialect::Postgres {
            // Switchboard's own lock number; the transaction releases the lock.
            let lock = "set local lock_timeout = '20s'; select pg_advisory_xact_lock(8317942301)";
            within("wait for another migration", transaction.script(lock)).await?;
        }
        let plan = self.plan_in(&mut transaction, true).await?;
        if matches!(plan.schema, SchemaState::Adoptable { .. } | SchemaState::Empty) {
            within("create the table of migration steps", transaction.script(STEPS_TABLE)).await?;
        }
        for step in self.schema.steps {
            let is_pending = plan.steps.iter().any(|(version, _)| *version == step.version);
            if is_pending {
                let sql = step.sql(self.pool.dialect());
                within_deadline("create the tables", STEP_DEADLINE, transaction.script(sql)).await?;
            }
            // The first step consists of the tables that the adopted program has created already.
            let is_adopted = matches!(plan.schema, SchemaState::Adoptable { .. }) && step.version == ADOPTED_STEP;
            if is_pending || is_adopted {
                self.record_step(&mut transaction, step).await?;
            }
        }
        if plan.credentials > 0 {
            credentials::reseal(&mut transaction, self).await?;
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
        let found = inspection::inspect(transaction, self.pool.dialect(), self.schema).await?;
        let done = match &found {
            SchemaState::Empty => 0,
            SchemaState::Adoptable { .. } => ADOPTED_STEP,
            SchemaState::Switchboard { version } => *version,
        };
        let pending = self.schema.steps.iter().filter(|step| step.version > done);
        let steps = pending.map(|step| (step.version, step.name)).collect();
        let credentials = match &found {
            SchemaState::Empty => 0,
            _ if !credentials => 0,
            _ => credentials::count_outdated(transaction, self, done).await?,
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

/// Step that creates the tables of an adopted program.
const ADOPTED_STEP: i64 = 1;

/// Table of the applied steps.
const STEPS_TABLE: &str =
    "create table switchboard_step (version bigint primary key, name text not null, digest text not null)";
