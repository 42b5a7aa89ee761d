//! Rows in PostgreSQL or SQLite: consistent reads, atomic commits, change streams, sealed credentials, migrations.
//!
//! ```text
//!  rows (typed) ─▶ RowChange ─┐                                   ┌─▶ PostgreSQL 15+ ─ NOTIFY ─┐
//!                             ├─▶ statement ─▶ one transaction ───┤                            ├─▶ ChangeStream
//!  Filter ──▶ LedgerView ─────┘        seal (credentials)         └─▶ SQLite ─── in process ───┘
//! ```
//!
//! A user of the crate declares its tables with [`rows!`] and its migration steps as a [`DatabaseSchema`]. Tables may
//! be those of another program, so that both programs use one database.
//!
//! Changes are data: the caller decides on a list of [`RowChange`]s, and the ledger commits it atomically.
//! [`LedgerStore`] is a ledger as a row store of the kernel.
//!
//! ```
//! # tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
//! use switchboard_sql::{Address, DatabaseSchema, Ledger, MigrationStep, RowChange, RowKey, Sealer};
//!
//! switchboard_sql::ids! {
//!     /// Tenant.
//!     UserId;
//! }
//!
//! switchboard_sql::rows! {
//!     since 1;
//!
//!     /// Tenant.
//!     User = "tenant" {
//!         /// Id of the row.
//!         id: UserId = "id" max 48 key true,
//!         /// Display name.
//!         name: Option<String> = "name" max 253,
//!     }
//! }
//!
//! const SQL: &str = "create table tenant (id text primary key, name text)";
//! static SCHEMA: DatabaseSchema = DatabaseSchema {
//!     tables: &[TABLES],
//!     row_tables: &[STORED_TABLES],
//!     steps: &[MigrationStep { version: 1, name: "tenants", postgres: SQL, sqlite: SQL }],
//!     adopts: None,
//! };
//!
//! let ledger = Ledger::open(&SCHEMA, &Address::parse("sqlite::memory:")?, Sealer::plain()).await?;
//! ledger.migrate().await?;
//! let tenant = User { id: "u-1".into(), name: Some("shop".into()) };
//! ledger.commit(&[RowChange::insert(&tenant)]).await?;
//! assert_eq!(ledger.get::<User>(&RowKey::from(&tenant.id)).await?, Some(tenant));
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).expect("the example holds");
//! ```
//!
//! The crate never decides on the content of a row, reads no Kubernetes objects, and generates neither ids nor times.

pub mod address;
pub mod archive;
pub mod change;
pub mod change_stream;
pub mod id;
pub mod key;
pub mod ledger;
pub mod migration;
#[cfg(feature = "real")]
pub mod postgres_server;
pub mod row;
pub mod row_store;
pub mod schema;
pub mod seal;
pub mod secret;
pub mod value;

mod pool;
mod statement;

pub use address::Address;
pub use change::{RowChange, RowLimit};
pub use change_stream::{ChangeEvent, ChangeStream};
pub use key::RowKey;
pub use ledger::{Filter, Ledger, LedgerCounts, LedgerError, LedgerView};
pub use row::{Column, Row, Table};
pub use row_store::LedgerStore;
pub use schema::{AdoptedProgram, DatabaseSchema, MigrationStep};
pub use seal::Sealer;
pub use secret::SecretString;
pub use value::{ColumnType, DbTimestamp, SqlValue};
