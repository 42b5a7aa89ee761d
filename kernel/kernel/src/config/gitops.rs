//! The section `gitops`: which roles of the GitOps Service this process has, and where its database is.

use std::path::{Path, PathBuf};

use super::limits::{self, LimitsConfig};
use super::report::Findings;
use super::section::Section;
use super::value;

/// [`GitopsConfig::namespace`] when not set: the original's.
pub const GITOPS_NAMESPACE: &str = "gitops-service-argocd";

/// What is said of the GitOps Service. Tenants are on the configuration cluster, Argo CD is on the management cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitopsConfig {
    /// Whether tenants' resources are looked after.
    pub backend: bool,
    /// Whether Argo CD's objects are.
    pub agent: bool,
    /// The database; a SQLite file in the state directory when absent. It may hold a password.
    pub database: Option<String>,
    /// A file with the keys that credentials are encrypted with; one is made beside the SQLite file when absent.
    pub credentials_key_file: Option<PathBuf>,
    /// Whether credentials are kept in clear.
    pub plaintext_credentials: bool,
    /// The namespace of an Argo CD that is made known when there is none.
    pub namespace: String,
    /// Where all of this was said, for hints.
    pub said: Said,
    /// Whether each tenant has a project of its own.
    pub isolation: bool,
    /// Whether other backends keep their tenants in the same database.
    pub shared_database: bool,
    /// A file with the secret that events of git servers for all tenants are signed with; none are believed when absent.
    pub webhook_secret_file: Option<PathBuf>,
    /// The limits of each of its operators.
    pub limits: LimitsConfig,
}

/// Where somebody said something, so that a hint can tell how to say it otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Said {
    /// In this file.
    #[default]
    File,
    /// By flags of a command line that stand for it.
    Flags,
}

impl Said {
    /// What it is called there: a field of the section, or a flag.
    pub fn name(self, field: &str, flag: &str) -> String {
        match self {
            Said::File => format!("`gitops.{field}`"),
            Said::Flags => flag.to_string(),
        }
    }
}

impl Default for GitopsConfig {
    fn default() -> Self {
        Self {
            backend: true,
            agent: true,
            database: None,
            credentials_key_file: None,
            plaintext_credentials: false,
            namespace: GITOPS_NAMESPACE.to_string(),
            said: Said::File,
            isolation: true,
            shared_database: false,
            webhook_secret_file: None,
            limits: LimitsConfig::default(),
        }
    }
}

pub(super) fn gitops(mut section: Section<'_>, folder: Option<&Path>, findings: &mut Findings) -> GitopsConfig {
    let mut config = GitopsConfig::default();
    section.set("backend", &mut config.backend, findings, value::truth);
    section.set("agent", &mut config.agent, findings, value::truth);
    config.database = section.take("database", findings, value::text);
    config.credentials_key_file = section.take("credentialsKeyFile", findings, |v| value::path(v, folder));
    section.set("plaintextCredentials", &mut config.plaintext_credentials, findings, value::truth);
    section.set("namespace", &mut config.namespace, findings, value::text);
    section.set("isolation", &mut config.isolation, findings, value::truth);
    section.set("sharedDatabase", &mut config.shared_database, findings, value::truth);
    config.webhook_secret_file = section.take("webhookSecretFile", findings, |v| value::path(v, folder));
    limits::nested(&mut section, &mut config.limits, findings);
    section.close(findings);
    config
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::{Config, Known};

    #[test]
    fn a_section_is_read_and_an_empty_one_means_everything() {
        let text = "gitops:\n  agent: false\n  database: 'postgres://db/gitops'\n  credentialsKeyFile: keys\n";
        let config = Config::parse("dir/switchboard.yaml", text, Known::default()).unwrap().gitops.unwrap();
        assert_eq!((config.backend, config.agent), (true, false));
        assert_eq!(config.credentials_key_file, Some("dir/keys".into()));
        let empty = Config::parse("s", "gitops: {}\n", Known::default()).unwrap().gitops.unwrap();
        assert_eq!(empty, GitopsConfig::default());
        assert_eq!(Config::parse("s", "{}\n", Known::default()).unwrap().gitops, None);
        let told = Config::parse("s", "gitops: {agnet: true}\n", Known::default()).unwrap_err().to_string();
        assert!(told.contains("agnet"), "{told}");
    }
}
