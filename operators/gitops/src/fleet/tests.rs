#![allow(clippy::unwrap_used)]

mod fixture;
mod moves;
mod placement;
mod setup;
