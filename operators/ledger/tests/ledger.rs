//! Tests of the ledger. Every case runs on SQLite and, with the feature `real`, on PostgreSQL.

#![allow(clippy::unwrap_used)]

#[path = "ledger/change_stream.rs"]
mod change_stream;
#[path = "ledger/changes.rs"]
mod changes;
#[path = "ledger/concurrency.rs"]
mod concurrency;
#[path = "ledger/database.rs"]
mod database;
#[cfg(feature = "real")]
#[path = "ledger/managed_gitops.rs"]
mod managed_gitops;
#[path = "ledger/migrations.rs"]
mod migrations;
#[path = "ledger/row_store.rs"]
mod row_store;
#[path = "ledger/samples.rs"]
mod samples;
