#![allow(clippy::unwrap_used)]

mod field;
mod moving;
mod place;
mod setup;
