#![allow(clippy::unwrap_used)]

mod applications;
mod document;
mod environments;
mod isolation;
mod operations;
mod random;
#[cfg(feature = "real")]
mod schema;
mod testing;
mod webhooks;
