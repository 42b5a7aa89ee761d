//! The web console: what goes on, as pages and as JSON.
//!
//! ```text
//!  kernel handle ─▶ source ─▶ load: what a page shows ─┬─▶ pages ─▶ HTML, drawings
//!  clusters ──────▶   │                                └─▶ api   ─▶ JSON
//!  GitOps Service ▶  │  (a `fleet::Fleet`, given)
//!                    veil (no secret passes)
//!  browser ─▶ guard (host, token, forgery) ─▶ action ─▶ kernel, clusters ─▶ log
//! ```
//!
//! A page is a pure function of what was loaded for it, and the API gives out the same. The console only reads; what it is
//! asked to do needs a token whose owner may do it, and is logged. It holds no state but sessions: every page is what the
//! kernel and the clusters say at that moment. It asks nothing of any other machine, and loads no script but its own.

mod access;
mod action;
mod api;
mod draw;
mod entrance;
mod flags;
pub mod fleet;
mod frame;
mod guard;
mod load;
mod pages;
mod piece;
mod problem;
mod pulse;
mod recent;
mod server;
mod source;
mod veil;

pub use flags::Flags;
pub use server::{BindError, Console, Serving, Settings};
pub use source::Source;
