//! Checks of the services hosted with the operators of a configuration: GitOps Service, integrations manager, embedded
//! engine.

use std::path::Path;
use std::sync::Arc;

use switchboard_kernel::config::{Config, GitopsConfig, IntegrationsConfig};
use switchboard_kernel::operator::Operator;

use super::report::{DoctorCheck, DoctorReport};
use super::{DatabaseTarget, database};
use crate::failure::message;
use crate::gitops::engine::EmbeddedEngine;
use crate::gitops::hosting::{self, SettingsCheck};
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
    if let (Some(section), Some(dir)) = (&config.gitops, dir) {
        operators.extend(gitops(section, dir, report).await);
    }
    if let Some(section) = &config.integrations {
        operators.extend(integrations(config, section, clusters, report).await);
    }
    // Folder for fetched repositories; this check fetches none.
    operators.extend(EmbeddedEngine::declared_operator(config, &std::env::temp_dir()));
    operators
}

async fn gitops(section: &GitopsConfig, dir: &Path, report: &mut DoctorReport) -> Vec<Arc<dyn Operator>> {
    let means = SettingsCheck::of(section, dir);
    database::check(&DatabaseTarget { url: means.database, is_migrated: section.backend }, report).await;
    for (check, found, ok) in [
        ("credentials", means.keys, "keys are usable, or will be created"),
        ("webhooks", means.hook_secret, "the secret is usable, or all events are refused"),
    ] {
        match found {
            Ok(()) => report.add(DoctorCheck::ok(format!("gitops {check}"), ok)),
            Err(error) => report.add(DoctorCheck::failed(format!("gitops {check}"), &message(&*error))),
        }
    }
    match hosting::declared_operators(section).await {
        Ok(operators) => operators,
        Err(error) => {
            report.add(DoctorCheck::failed("gitops", &message(&*error)));
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
    failed.iter().for_each(|told| report.add(DoctorCheck::failed(INTEGRATIONS, told)));
    report
        .add(DoctorCheck::ok(INTEGRATIONS, format!("{} desired objects in bundle {:.12}", desired.len(), desired.sha)));
    let reached = operators.into_iter().map(|(operator, name, client)| {
        clusters.clients.insert(name, client);
        operator
    });
    reached.collect()
}
