//! What is hosted beside the operators of a configuration: the GitOps Service, the integrations manager, the embedded engine.

use std::path::Path;
use std::sync::Arc;

use switchboard_kernel::config::{Config, GitopsConfig, IntegrationsConfig};
use switchboard_kernel::operator::Operator;

use super::report::{Check, Report};
use super::{Which, database};
use crate::failure::tell;
use crate::gitops::engine::Embedded;
use crate::gitops::hosting::{self, Means};
use crate::guests::Clusters;
use crate::integrations::hosting::Manager;

const INTEGRATIONS: &str = "integrations";

/// Looks at what each needs; gives their operators, whose rights are asked for. Clusters that only the data names are added.
pub async fn check(
    config: &Config,
    clusters: &mut Clusters,
    dir: Option<&Path>,
    report: &mut Report,
) -> Vec<Arc<dyn Operator>> {
    let mut operators = Vec::new();
    if let (Some(section), Some(dir)) = (&config.gitops, dir) {
        operators.extend(gitops(section, dir, report).await);
    }
    if let Some(section) = &config.integrations {
        operators.extend(integrations(config, section, clusters, report).await);
    }
    // Where a repository would be fetched to, if it were.
    operators.extend(Embedded::declaring(config, &std::env::temp_dir()));
    operators
}

async fn gitops(section: &GitopsConfig, dir: &Path, report: &mut Report) -> Vec<Arc<dyn Operator>> {
    let means = Means::of(section, dir);
    database::check(&Which { url: means.database, is_migrated: section.backend }, report).await;
    for (check, found, ok) in [
        ("credentials", means.keys, "keys can be used, or one is made"),
        ("webhooks", means.hook_secret, "the secret of events can be used, or none is believed"),
    ] {
        match found {
            Ok(()) => report.add(Check::ok(format!("gitops {check}"), ok)),
            Err(error) => report.add(Check::failed(format!("gitops {check}"), &tell(&*error))),
        }
    }
    match hosting::declaring(section).await {
        Ok(operators) => operators,
        Err(error) => {
            report.add(Check::failed("gitops", &tell(&*error)));
            Vec::new()
        }
    }
}

/// Reads the source, as the manager would.
async fn integrations(
    config: &Config,
    section: &IntegrationsConfig,
    clusters: &mut Clusters,
    report: &mut Report,
) -> Vec<Arc<dyn Operator>> {
    // Of clusters that do not answer was told already; what is left of them can be asked.
    let mut manager = match Manager::new(section, &config.topology, clusters.clone()) {
        Ok(manager) => manager,
        Err(error) => {
            report.add(Check::failed(INTEGRATIONS, &tell(&*error)));
            return Vec::new();
        }
    };
    let (operators, failed) = match manager.once().await {
        Ok(read) => read,
        Err(error) => {
            report.add(Check::failed(INTEGRATIONS, &tell(&*error)));
            return Vec::new();
        }
    };
    let desired = manager.shelf().desired();
    for problem in desired.problems() {
        let hint = "what it concerns is left as it is; `switchboard integrations plan` shows the rest";
        report.add(Check::warning(INTEGRATIONS, problem.to_string(), hint));
    }
    failed.iter().for_each(|told| report.add(Check::failed(INTEGRATIONS, told)));
    report.add(Check::ok(INTEGRATIONS, format!("{} objects wanted by bundle {:.12}", desired.len(), desired.sha)));
    let reached = operators.into_iter().map(|(operator, name, client)| {
        clusters.clients.insert(name, client);
        operator
    });
    reached.collect()
}
