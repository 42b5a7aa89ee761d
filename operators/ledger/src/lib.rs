//! Storage of the GitOps Service (tenants, environments, applications, operations) in PostgreSQL or SQLite.
//!
//! ```text
//!  rows (typed) ─▶ RowChange ─┐                                   ┌─▶ PostgreSQL 15+ ─ NOTIFY ─┐
//!                             ├─▶ statement ─▶ one transaction ───┤                            ├─▶ ChangeStream
//!  Filter ──▶ LedgerView ─────┘        seal (credentials)         └─▶ SQLite ─── in process ───┘
//! ```
//!
//! Seventeen tables are those of managed-gitops, with its names and columns, so that both programs can use the same
//! database. Tables that only Switchboard has are named `switchboard_…`; columns that only Switchboard has are nullable
//! or have a default.
//!
//! Changes are data: the caller decides on a list of [`RowChange`]s, and the ledger commits it atomically.
//!
//! ```
//! # tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
//! use switchboard_ledger::rows::ClusterUser;
//! use switchboard_ledger::{Address, Ledger, RowChange, RowKey, Sealer};
//!
//! let ledger = Ledger::open(&Address::parse("sqlite::memory:")?, Sealer::plain()).await?;
//! ledger.migrate().await?;
//! let tenant = ClusterUser {
//!     id: "u-1".into(),
//!     user_name: "uid-of-a-namespace".into(),
//!     created_on: Default::default(),
//!     display_name: Some("shop".into()),
//! };
//! ledger.commit(&[RowChange::insert(&tenant)]).await?;
//! assert_eq!(ledger.get::<ClusterUser>(&RowKey::from(&tenant.id)).await?, Some(tenant));
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).expect("the example holds");
//! ```
//!
//! The crate never decides on the content of a row, reads no Kubernetes objects, and generates neither ids nor times.

pub mod address;
pub mod archive;
pub mod change;
pub mod change_stream;
pub mod ids;
pub mod key;
pub mod ledger;
pub mod migration;
#[cfg(feature = "real")]
pub mod postgres_server;
pub mod row;
pub mod row_store;
pub mod rows;
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
pub use seal::Sealer;
pub use secret::SecretString;
pub use value::{ColumnType, DbTimestamp, SqlValue};
