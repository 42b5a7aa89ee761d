//! End-to-end tests of the `switchboard` command.
#![allow(clippy::unwrap_used)]

mod canaries;
mod cases;
mod cli_output;
mod configured_hosting;
mod control;
mod doctor;
mod engine;
mod fault_test;
mod faults;
mod fleet;
mod gather;
mod gitops;
mod gitops_roles;
mod gitops_verbs;
mod helm_differences;
mod hosted_programs;
mod integrations;
mod kernel;
mod logical;
mod moves;
mod newcomer;
mod plugs;
mod process;
#[allow(dead_code, reason = "the suite it belongs to uses all of it")]
#[path = "../../../../operators/integrations/tests/qontract_reconcile/server.rs"]
mod qontract_server;
mod rogues;
mod seeded_faults;
mod serve;
mod template;
mod template_validate;
mod up;
mod up_process;
