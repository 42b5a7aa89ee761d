//! Helm charts and OpenShift Templates: load, merge values, render.
//!
//! ```text
//! folder, .tgz ─▶ Chart ─▶ Compiled ─▶ Rendered: manifests, hooks, CRDs, notes
//!                             ▲
//!      -f, --set ─▶ values ───┘     Template ─▶ process ─▶ objects
//! ```
//!
//! A [`chart::Chart`] is what was loaded and never changes. [`render::Compiled`] holds its parsed templates; threads share
//! it. What is rendered is, to the byte, what `helm template` of Helm 4.2 prints, and errors have its words.
//!
//! ```
//! use switchboard_chart::chart::Chart;
//! use switchboard_chart::file::File;
//! use switchboard_chart::release::Release;
//! use switchboard_chart::render::{Compiled, Request};
//!
//! let chart = Chart::from_files(vec![
//!     File::new("Chart.yaml", b"{apiVersion: v2, name: shop, version: 1.0.0}"),
//!     File::new("values.yaml", b"greeting: hello"),
//!     File::new("templates/config.yaml", b"kind: ConfigMap\ndata: {say: {{ .Values.greeting }}}\n"),
//! ])?;
//! let shop = Compiled::new(chart);
//! let rendered = shop.render(&Request::new(Release::new("shop", "default")))?;
//! assert_eq!(rendered.sorted.manifests[0].object()?["data"]["say"], "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate asks nobody: no network, no clock, no randomness. It reads the files of a chart, within bounds, and nothing
//! those point to elsewhere.

pub mod archive;
pub mod capabilities;
pub mod chart;
pub mod coalesce;
pub mod file;
pub mod folder;
pub mod given;
mod glob;
mod gotext;
pub mod ignore;
pub mod instance;
pub mod manifest;
pub mod metadata;
pub mod openshift;
pub mod output;
mod range;
pub mod release;
pub mod render;
pub mod schema;
pub mod strvals;
pub mod talk;
pub mod typed;
pub mod values;
pub mod wildcard;
