//! Integrations manager in this process: sources of its data, and access to the clusters in the data.

pub mod bundle_source;
mod cluster_auth;
mod cluster_connector;
pub mod hosting;
mod manager_config;

use std::collections::{BTreeMap, BTreeSet};

use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::meta::IntegrationMeta;
use switchboard_integrations::model::IntegrationModel;
use switchboard_integrations::source::Bundle;

use crate::failure::CommandError;

/// Refuses an environment that no bundle has; the output would be empty without an error.
pub fn check_environment(environment: Option<&str>, bundles: &[&Bundle]) -> Result<(), CommandError> {
    let Some(wanted) = environment.filter(|name| !name.is_empty()) else { return Ok(()) };
    let known: BTreeSet<String> = bundles.iter().flat_map(|bundle| IntegrationModel::environments(bundle)).collect();
    if known.contains(wanted) {
        return Ok(());
    }
    let known: Vec<String> = known.into_iter().collect();
    Err(format!("the data has no environment `{wanted}`\nhint: environments: {}", known.join(", ")).into())
}

/// Returns the environment variables of this process that are valid UTF-8.
pub fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns the options of integrations: the built-in ones, and those of a file.
pub fn meta(file: Option<&std::path::Path>) -> Result<IntegrationMeta, CommandError> {
    let mut meta = IntegrationMeta::default();
    if let Some(file) = file {
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("could not read {}: {error}", file.display()))?;
        meta.extend(IntegrationMeta::parse(&text)?);
    }
    Ok(meta)
}

/// Returns the chart at a path, or the built-in one.
pub fn chart(path: Option<&std::path::Path>) -> Result<IntegrationsChart, CommandError> {
    Ok(match path {
        Some(path) => IntegrationsChart::load(path)?,
        None => IntegrationsChart::builtin(),
    })
}
