//! The integrations manager: integrations of an app-interface become workloads on clusters, shard by shard.
//!
//! ```text
//! directory, bundle, server ─▶ Bundle ─▶ model ─▶ sharding ─▶ values ─▶ render ─▶ desired ─┬─▶ operator ─▶ clusters
//!                                          │                   (chart)                     ├─▶ diff, who
//!                                          └──────────── problems, by file and field ◀─────┘
//! ```
//!
//! A [`source::Bundle`] is an immutable set of datafiles; one run works on one of them. What is wrong in a file disables
//! what depends on that file, as a [`problem::Problem`], and nothing else.
//!
//! ```
//! use switchboard_integrations::source::Bundle;
//!
//! let bundle = Bundle::of_texts([("/account.yml", "{$schema: /aws/account-1.yml, name: one}")]);
//! assert_eq!(bundle.of_schema("/aws/account-1.yml").count(), 1);
//! ```
//!
//! Nothing here keeps a secret: tokens of clusters come through [`credentials`] and go nowhere else.

pub mod annotations;
pub mod chart;
pub mod credentials;
pub mod desired;
pub mod diff;
pub mod field;
pub mod hash;
pub mod lint;
pub mod memory;
pub mod meta;
pub mod model;
pub mod operator;
pub mod parameters;
pub mod problem;
pub mod render;
pub mod repair;
pub mod settings;
pub mod sharding;
pub mod source;
pub mod values;
pub mod who;
