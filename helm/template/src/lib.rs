//! Go's text/template, natively: the same language, the same output, the same error texts, without Go.
//!
//! ```text
//! text ─▶ parse ─▶ Set (shared by threads) ─▶ exec ─▶ bytes
//!                     │                        │
//!                 Functions                  Value ◀─ JSON, host objects
//! ```
//!
//! - [`Value`] is what templates see: Go's kinds, types and truth.
//! - [`Functions`] are what they call.
//! - [`Execution`] is one run; functions that call back, such as Helm's `include`, get it.
//!
//! This crate reads no file, no clock, no environment and no randomness: what a template gets of the world comes in as
//! data, as functions, or as a host of its [`Options`].

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

pub use error::{Error, Spot};
pub use exec::Execution;
pub use exec::ledger::Ledger;
pub use exec::whole::{KEPT, MAX_PARTS, SEEN};
pub use function::{Body, Function, Functions, Signature};
pub use options::{Limits, MissingKey, Options};
pub use set::Set;
pub use value::{
    Kind, List, Map, Method, MethodBody, Named, Numbers, Object, Sequence, Shape, Str, Type, Value, free_cycles,
};
