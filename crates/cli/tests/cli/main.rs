//! The `switchboard` command as a user runs it.
#![allow(clippy::unwrap_used)]

mod faults;
mod process;
mod serve;
mod up;
