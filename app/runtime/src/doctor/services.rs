//! Checks of the services hosted with the operators of a configuration: GitOps Service, integrations manager, embedded
//! engine.

use std::path::Path;
use std::sync::Arc;

use switchboard_gitops::config::GitopsConfig;
use switchboard_gitops::family::declared_operators;
use switchboard_integrations::config::IntegrationsConfig;
use switchboard_kernel::config::Config;
use switchboard_kernel::operator::Operator;

use super::report::{CheckState, DoctorCheck, DoctorReport};
use super::{DatabaseTarget, database};
use crate::failure::message;
use crate::gitops::engine::EmbeddedEngine;
use crate::gitops::hosting::SettingsCheck;
use crate::hosted::ClusterClients;
use crate::integrations::hosting::IntegrationsManager;

const INTEGRATIONS: &str = "integrations";

/// Checks the prerequisites of each service. Returns their operators, whose permissions are checked next, and adds the
/// clusters that only the integrations data names.
pub async fn check(
    config: &Config,
    clusters: &mut ClusterClients,
    dir: Option<&Path>,
    report: &mut DoctorReport,
) -> Vec<Arc<dyn Operator>> {
    let mut operators = Vec::new();
    if let (Some(section), Some(dir)) = (config.section(), dir) {
        operators.extend(gitops(section, dir, report).await);
    }
    if let Some(section) = config.section() {
        operators.extend(integrations(config, section, clusters, report).await);
    }
    // Folder for fetched repositories; this check fetches none.
    operators.extend(EmbeddedEngine::declared_operator(config, &std::env::temp_dir()));
    operators
}

async fn gitops(section: &GitopsConfig, dir: &Path, report: &mut DoctorReport) -> Vec<Arc<dyn Operator>> {
    let SettingsCheck { database, keys, hook_secret } = SettingsCheck::of(section, dir);
    let (sealer, keys) = match keys {
        Ok(Some(sealer)) => (Some(sealer), Ok("keys are usable")),
        Ok(None) => (None, Ok("keys will be created")),
        Err(error) => (None, Err(error)),
    };
    database::check(DatabaseTarget { url: database, is_migrated: section.backend, sealer }, report).await;
    let hook_secret = hook_secret.map(|()| match section.webhook_secret_file {
        Some(_) => "the secret is usable",
        None => "all events are refused, as no secret is configured",
    });
    for (check, found) in [("credentials", keys), ("webhooks", hook_secret)] {
        match found {
            Ok(found) => report.add(DoctorCheck::ok(format!("gitops {check}"), found)),
            Err(error) => report.add(DoctorCheck::failed(format!("gitops {check}"), &message(&*error))),
        }
    }
    match declared_operators(section).await {
        Ok(operators) => operators,
        Err(error) => {
            report.add(DoctorCheck::failed("gitops", &message(&error)));
            Vec::new()
        }
    }
}

/// Reads the source like the integrations manager.
async fn integrations(
    config: &Config,
    section: &IntegrationsConfig,
    clusters: &mut ClusterClients,
    report: &mut DoctorReport,
) -> Vec<Arc<dyn Operator>> {
    // Clusters that do not answer are reported already; the manager uses the others.
    let mut manager = match IntegrationsManager::new(section, &config.topology, clusters.clone()) {
        Ok(manager) => manager,
        Err(error) => {
            report.add(DoctorCheck::failed(INTEGRATIONS, &message(&*error)));
            return Vec::new();
        }
    };
    let (operators, failed) = match manager.load_operators().await {
        Ok(read) => read,
        Err(error) => {
            report.add(DoctorCheck::failed(INTEGRATIONS, &message(&*error)));
            return Vec::new();
        }
    };
    let desired = manager.store().desired();
    for problem in desired.problems() {
        let hint = "affected objects stay unchanged; `switchboard integrations plan` shows the others";
        report.add(DoctorCheck::warning(INTEGRATIONS, problem.to_string(), hint));
    }
    let has_clusters = !clusters.clients.is_empty();
    for message in &failed {
        let check = DoctorCheck::failed(INTEGRATIONS, message);
        // Without any cluster only `up` can run this configuration, and it serves these clusters itself.
        report.add(if has_clusters { check } else { DoctorCheck { state: CheckState::Warning, ..check } });
    }
    report
        .add(DoctorCheck::ok(INTEGRATIONS, format!("{} desired objects in bundle {:.12}", desired.len(), desired.sha)));
    let reached = operators.into_iter().map(|(operator, name, client)| {
        clusters.clients.insert(name, client);
        operator
    });
    reached.collect()
}
