//! Helm charts and OpenShift Templates: load, merge values, render.
//!
//! ```text
//! folder, .tgz ─▶ Chart ─▶ CompiledChart ─▶ RenderedChart: manifests, hooks, CRDs, notes
//!                                ▲
//!      -f, --set ─▶ values ──────┘     OpenShiftTemplate ─▶ process ─▶ objects
//! ```
//!
//! A [`chart::Chart`] is loaded once and immutable. [`render::CompiledChart`] holds its parsed templates and is shared
//! by threads. The output is byte for byte that of `helm template` of Helm 4.2, and errors have Helm's texts.
//!
//! ```
//! use switchboard_chart::chart::Chart;
//! use switchboard_chart::file::ChartFile;
//! use switchboard_chart::release::Release;
//! use switchboard_chart::render::{CompiledChart, RenderRequest};
//!
//! let chart = Chart::from_files(vec![
//!     ChartFile::new("Chart.yaml", b"{apiVersion: v2, name: shop, version: 1.0.0}"),
//!     ChartFile::new("values.yaml", b"greeting: hello"),
//!     ChartFile::new("templates/config.yaml", b"kind: ConfigMap\ndata: {say: {{ .Values.greeting }}}\n"),
//! ])?;
//! let shop = CompiledChart::new(chart);
//! let rendered = shop.render(&RenderRequest::new(Release::new("shop", "default")))?;
//! assert_eq!(rendered.sorted.manifests[0].object()?["data"]["say"], "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate uses no network, clock or randomness. It reads the files of a chart, within limits, and no files
//! elsewhere that the chart refers to.

pub mod archive;
pub mod capabilities;
pub mod chart;
pub mod coalesce;
pub mod file;
pub mod folder;
mod gotext;
pub mod ignore;
pub mod instance;
pub mod manifest;
pub mod metadata;
pub mod openshift;
pub mod output;
pub mod release;
pub mod render;
pub mod schema;
pub mod strvals;
pub mod typed;
pub mod value_options;
pub mod values;
mod version_range;
pub mod warnings;

/// Examples of the README, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeDoctests;
