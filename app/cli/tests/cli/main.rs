//! The `switchboard` command as a user runs it.
#![allow(clippy::unwrap_used)]

mod board;
mod canaries;
mod cases;
mod control;
mod doctor;
mod engine;
mod faults;
mod fleet;
mod gather;
mod gitops;
mod gitops_roles;
mod gitops_verbs;
mod guests;
mod hosted;
mod integrations;
mod kernel;
mod logical;
mod moves;
mod plugs;
mod probe;
mod process;
#[allow(dead_code, reason = "the suite it belongs to uses all of it")]
#[path = "../../../../operators/integrations/tests/original/server.rs"]
mod qontract_server;
mod rogues;
mod seeded;
mod serve;
mod small;
mod template;
mod up;
mod validated;
mod words;
