//! Integrations manager: runs the integrations of an app-interface as sharded workloads on clusters.
//!
//! ```text
//! directory, bundle, server ─▶ Bundle ─▶ model ─▶ sharding ─▶ values ─▶ render ─▶ desired ─┬─▶ operator ─▶ clusters
//!                                          │                   (chart)                     ├─▶ diff, workload_list
//!                                          └──────────── problems, by file and field ◀─────┘
//! ```
//!
//! A [`source::Bundle`] is an immutable set of datafiles, and each run uses one bundle. A problem in a file disables
//! only what depends on that file, and is reported as a [`problem::DataProblem`].
//!
//! ```
//! use switchboard_integrations::source::Bundle;
//!
//! let bundle = Bundle::from_texts([("/account.yml", "{$schema: /aws/account-1.yml, name: one}")]);
//! assert_eq!(bundle.of_schema("/aws/account-1.yml").count(), 1);
//! ```
//!
//! The crate stores no secrets: tokens of clusters are read through [`credentials`] only.

pub mod annotations;
pub mod chart;
pub mod config;
pub mod credentials;
pub mod data_field;
pub mod desired;
pub mod diff;
pub mod family;
pub mod hash;
pub mod lint;
pub mod meta;
pub mod model;
pub mod namespace_history;
pub mod operator;
pub mod parameters;
pub mod problem;
pub mod render;
pub mod repair;
pub mod settings;
pub mod sharding;
pub mod source;
pub mod values;
pub mod workload_list;
