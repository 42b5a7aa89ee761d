//! What the GitOps Service remembers: tenants, environments, applications, operations; in PostgreSQL or in SQLite.
//!
//! ```text
//!  rows (typed) ─▶ Change ─┐                                   ┌─▶ PostgreSQL 15+ ─ NOTIFY ─┐
//!                          ├─▶ statement ─▶ one transaction ───┤                            ├─▶ Signals
//!  Filter ──▶ View ────────┘        seal (credentials)         └─▶ SQLite ─── in process ───┘
//! ```
//!
//! The seventeen tables are those of the service that was there before, with its names and columns, so that its programs and
//! ours read the same database; what is ours alone is named `switchboard_…`, or is a column with a default.
//!
//! A change is data: what is decided elsewhere arrives as a list of [`Change`]s and is made whole or not at all.
//!
//! ```
//! # tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
//! use switchboard_ledger::rows::ClusterUser;
//! use switchboard_ledger::{Address, Change, Key, Ledger, Sealing};
//!
//! let ledger = Ledger::open(&Address::parse("sqlite::memory:")?, Sealing::plain()).await?;
//! ledger.migrate().await?;
//! let tenant = ClusterUser {
//!     id: "u-1".into(),
//!     user_name: "uid-of-a-namespace".into(),
//!     created_on: Default::default(),
//!     display_name: Some("shop".into()),
//! };
//! ledger.commit(&[Change::insert(&tenant)]).await?;
//! assert_eq!(ledger.get::<ClusterUser>(&Key::from(&tenant.id)).await?, Some(tenant));
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).expect("the example holds");
//! ```
//!
//! It will never decide what a row should say, read a Kubernetes object, or make an id or a time of its own.

pub mod address;
pub mod archive;
pub mod change;
pub mod ids;
pub mod key;
pub mod ledger;
pub mod migration;
pub mod row;
pub mod rows;
pub mod seal;
pub mod secret;
#[cfg(feature = "real")]
pub mod server;
pub mod signal;
pub mod value;

mod pool;
mod statement;

pub use address::Address;
pub use change::{Bound, Change};
pub use key::Key;
pub use ledger::{Counts, Filter, Ledger, LedgerError, View};
pub use row::{Column, Row, Table};
pub use seal::Sealing;
pub use secret::Secret;
pub use signal::{Signal, Signals};
pub use value::{Kind, Moment, Value};
