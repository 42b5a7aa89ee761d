//! Declarative test cases of operators: inputs and expected writes.

pub mod case_run;
pub mod program;
pub mod report;
pub mod suite;
