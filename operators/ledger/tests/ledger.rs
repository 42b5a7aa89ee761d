//! The ledger, on SQLite and, with the feature `real`, on PostgreSQL: every case on both.

#![allow(clippy::unwrap_used)]

#[path = "ledger/base.rs"]
mod base;
#[path = "ledger/changes.rs"]
mod changes;
#[path = "ledger/migrations.rs"]
mod migrations;
#[path = "ledger/samples.rs"]
mod samples;
#[path = "ledger/signals.rs"]
mod signals;
#[cfg(feature = "real")]
#[path = "ledger/takeover.rs"]
mod takeover;
#[path = "ledger/together.rs"]
mod together;
