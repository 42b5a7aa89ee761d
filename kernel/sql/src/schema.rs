//! Declaration of a database: its tables and its migration steps.

use crate::row::Table;
use crate::statement::Dialect;

use ring::digest::{SHA256, digest};
use switchboard_kernel::row::RowTable;

/// Tables and migration steps of a database.
#[derive(Debug)]
pub struct DatabaseSchema {
    /// Groups of tables, each table after those it refers to.
    pub tables: &'static [&'static [&'static Table]],
    /// Groups of the same tables, as tables of the kernel's rows.
    pub row_tables: &'static [&'static [&'static RowTable]],
    /// Steps, oldest first.
    pub steps: &'static [MigrationStep],
    /// Program whose databases a migration adopts.
    pub adopts: Option<AdoptedProgram>,
}

impl DatabaseSchema {
    /// Returns every table, each after the tables it refers to.
    pub fn tables(&self) -> impl DoubleEndedIterator<Item = &'static Table> + use<> {
        self.tables.iter().flat_map(|group| group.iter().copied())
    }

    /// Returns the programs that create the tables, for messages.
    pub(crate) fn owners(&self) -> String {
        self.adopts
            .as_ref()
            .map_or_else(|| "not Switchboard".to_string(), |other| format!("neither {} nor Switchboard", other.name))
    }
}

/// Program with a database of the tables of the first step. golang-migrate recorded its version.
#[derive(Debug)]
pub struct AdoptedProgram {
    /// Name of the program.
    pub name: &'static str,
    /// Only supported version of its schema.
    pub version: i64,
}

/// Migration step, with the SQL for both databases. The digest of a step is stored, so a released step never changes.
///
/// The steps also create the log of changes: the tables `switchboard_change` and `switchboard_change_cut`, and the
/// triggers that write it.
#[derive(Debug)]
pub struct MigrationStep {
    /// Number of the step, from 1 on.
    pub version: i64,
    /// Description for users.
    pub name: &'static str,
    /// SQL for PostgreSQL.
    pub postgres: &'static str,
    /// SQL for SQLite.
    pub sqlite: &'static str,
}

impl MigrationStep {
    pub(crate) fn sql(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Sqlite => self.sqlite,
        }
    }

    pub(crate) fn digest(&self, dialect: Dialect) -> String {
        digest(&SHA256, self.sql(dialect).as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
