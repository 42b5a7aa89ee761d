//! Checks of everything a configuration needs, with a hint for what is missing.

mod cluster;
mod database;
mod machine;
mod permissions;
pub mod report;
mod services;

use std::path::Path;

use switchboard_gitops::config::GitopsConfig;
use switchboard_kernel::family::Families;

use crate::cluster_access::ClusterAccess;
use crate::config_file;
use crate::count::counted;
use crate::state_dir::StateDir;
use database::DatabaseTarget;
use report::{DoctorCheck, DoctorReport};

/// Checks configuration, clusters, permissions, database and machine. `database` is the URL of a database to check in
/// place of the configured one.
pub async fn check(
    families: Families,
    file: &Path,
    database: Option<&str>,
    access: &ClusterAccess,
    state: &StateDir,
) -> DoctorReport {
    let mut report = DoctorReport::default();
    let config = match config_file::read_config(families, file) {
        Ok(mut config) => {
            access.apply_with_up(&mut config, state);
            let operators = config.operators.values().filter(|one| one.enabled).count();
            let (file, clusters) = (file.display(), config.clusters.len());
            let found = format!("{file}: {}, {}", counted(operators, "operator"), counted(clusters, "cluster"));
            report.add(DoctorCheck::ok("configuration", found));
            for warning in config.warnings() {
                report.add(DoctorCheck::warning(
                    "configuration",
                    warning,
                    "`switchboard init --config -` prints every setting with a comment",
                ));
            }
            Some(config)
        }
        Err(error) => {
            DoctorCheck::config_errors("configuration", &*error).into_iter().for_each(|check| report.add(check));
            None
        }
    };
    machine::check(state, config.as_ref(), &mut report).await;
    match database {
        Some(url) => database::check(DatabaseTarget::of_url(url), &mut report).await,
        None if config.as_ref().is_none_or(|config| config.section::<GitopsConfig>().is_none()) => {
            database::not_configured(&mut report)
        }
        None => {}
    }
    if let Some(config) = &config {
        let mut clusters = cluster::check(config, &mut report).await.with_local_up(config, state);
        let dir = state.path().ok();
        let beside = services::check(config, &mut clusters, dir.as_deref(), &mut report).await;
        permissions::check(config, &clusters, beside, &mut report).await;
    }
    report
}
