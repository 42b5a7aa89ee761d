//! GitOps Service in this process: its two roles, its database, and the embedded engine.

mod console_fleet;
pub mod credential;
pub mod database;
pub mod engine;
pub mod hint;
pub mod hosting;
mod network;
