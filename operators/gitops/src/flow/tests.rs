#![allow(clippy::unwrap_used)]

mod agent;
mod credential;
mod deployment;
mod environment;
mod fixture;
mod operation;
mod sync_run;
mod tenant;
