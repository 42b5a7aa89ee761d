//! Web console: the state of the kernel and the clusters as pages and as JSON.
//!
//! ```text
//!  kernel handle ─▶ source ─▶ load: data of a page ─┬─▶ pages ─▶ HTML, drawings
//!  clusters ──────▶   │                             └─▶ api   ─▶ JSON
//!  GitOps Service ▶   │  (implements `fleet::FleetProvider`)
//!                     redact (removes secrets)
//!  browser ─▶ guard (host, token, CSRF) ─▶ action ─▶ kernel, clusters ─▶ log
//! ```
//!
//! A page is a pure function of its loaded data, and the API returns the same data. The console is read-only except for
//! actions, which need a token with the permission and are logged. Sessions are its only state: every page shows the
//! current state of the kernel and the clusters. The console contacts no other machine and loads no foreign script.

mod access;
mod action;
mod api;
mod components;
mod draw;
mod flags;
pub mod fleet;
mod layout;
mod load;
mod login;
mod pages;
mod problem;
mod recent;
mod redact;
mod server;
mod source;
mod state_cache;
mod table;

pub use flags::{CommandFlags, quoted};
pub use server::{BindError, Console, ConsoleSettings, RunningConsole};
pub use source::ConsoleSource;
