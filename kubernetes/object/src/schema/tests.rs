#![allow(clippy::unwrap_used)]

mod decode;
