//! Tests of the database. Every case runs on SQLite and, with the feature `real`, on PostgreSQL.

#![allow(clippy::unwrap_used)]

#[path = "database/change_stream.rs"]
mod change_stream;
#[path = "database/changes.rs"]
mod changes;
#[path = "database/concurrency.rs"]
mod concurrency;
#[path = "database/database.rs"]
mod database;
#[path = "database/indexes.rs"]
mod indexes;
#[cfg(feature = "real")]
#[path = "database/managed_gitops.rs"]
mod managed_gitops;
#[path = "database/migrations.rs"]
mod migrations;
#[path = "database/samples.rs"]
mod samples;
