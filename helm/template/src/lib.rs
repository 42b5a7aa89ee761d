//! Native implementation of Go's text/template: the same language, output and error texts, without Go.
//!
//! ```text
//! text ─▶ parse ─▶ TemplateSet (shared by threads) ─▶ exec ─▶ bytes
//!                     │                                │
//!                 Functions                          Value ◀─ JSON, host objects
//! ```
//!
//! - [`Value`] is a value of a template, with Go's kinds, types and truth.
//! - [`Functions`] is the table of functions that templates call.
//! - [`Execution`] is one run. Functions that call back, such as Helm's `include`, receive it.
//!
//! This crate reads no file, clock, environment variable or random source. The caller passes such inputs as data, as
//! functions, or as hosts in [`ExecutionOptions`].

mod builtin;
mod error;
mod exec;
pub mod format;
mod function;
pub mod fuzz;
mod options;
mod parse;
pub mod rune;
mod set;
pub mod sprig;
mod stack;
mod value;

pub use error::{Error, ErrorDetails};
pub use exec::Execution;
pub use exec::budget::ExecutionBudget;
pub use exec::cost::{MAX_PARTS, NEW_PART_STEPS, READ_PART_STEPS};
pub use function::{Function, FunctionBody, Functions, Signature};
pub use options::{ExecutionLimits, ExecutionOptions, MissingKey};
pub use set::TemplateSet;
pub use value::{
    GoMap, GoSlice, HostObject, JsonNumbers, Method, MethodBody, NamedType, ReflectKind, ReflectType, Sequence, Str,
    TypeShape, Value, free_cycles,
};

/// Examples of the README, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeDoctests;
