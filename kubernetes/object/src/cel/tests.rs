#![allow(clippy::unwrap_used)]

mod bounds;
mod language;
