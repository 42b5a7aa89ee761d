//! Section `gitops`: roles of the GitOps Service in this process, and its database.

use std::path::{Path, PathBuf};

use switchboard_kernel::config::{ErrorCollector, Section, SectionConfig, value};

/// Default of [`GitopsConfig::namespace`], as in managed-gitops.
pub const GITOPS_NAMESPACE: &str = "gitops-service-argocd";

/// Configuration of the GitOps Service. Tenants are on the configuration cluster, Argo CD is on the management cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitopsConfig {
    /// Whether the backend runs, which reconciles tenants' resources.
    pub backend: bool,
    /// Whether the agent runs, which reconciles Argo CD's objects.
    pub agent: bool,
    /// Database URL, which may contain a password; a SQLite file in the state directory when absent.
    pub database: Option<String>,
    /// File with the keys that encrypt credentials; created beside the SQLite file when absent.
    pub credentials_key_file: Option<PathBuf>,
    /// Whether credentials are stored in plaintext.
    pub plaintext_credentials: bool,
    /// Namespace of the Argo CD that is registered if there is none.
    pub namespace: String,
    /// Source of these options, for hints.
    pub option_source: OptionSource,
    /// Whether each tenant has an AppProject of its own.
    pub isolation: bool,
    /// Whether other backends store their tenants in the same database.
    pub shared_database: bool,
    /// File with the secret that signs webhook events of git servers for all tenants; unsigned events are ignored.
    pub webhook_secret_file: Option<PathBuf>,
}

/// Source of an option, so that a hint can name the field or flag to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionSource {
    /// Configuration file.
    #[default]
    File,
    /// Command line flags instead of a file.
    Flags,
}

impl OptionSource {
    /// Returns the name of the option at its source: a field of the section, or a flag.
    pub fn name(self, field: &str, flag: &str) -> String {
        match self {
            OptionSource::File => format!("`gitops.{field}`"),
            OptionSource::Flags => flag.to_string(),
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
            option_source: OptionSource::File,
            isolation: true,
            shared_database: false,
            webhook_secret_file: None,
        }
    }
}

/// Reads the section.
pub(crate) fn read(
    section: &mut Section<'_>,
    folder: Option<&Path>,
    findings: &mut ErrorCollector,
) -> Option<SectionConfig> {
    let mut config = GitopsConfig::default();
    section.set("backend", &mut config.backend, findings, value::boolean);
    section.set("agent", &mut config.agent, findings, value::boolean);
    config.database = section.take("database", findings, value::text);
    config.credentials_key_file = section.take("credentialsKeyFile", findings, |v| value::path(v, folder));
    section.set("plaintextCredentials", &mut config.plaintext_credentials, findings, value::boolean);
    section.set("namespace", &mut config.namespace, findings, value::text);
    section.set("isolation", &mut config.isolation, findings, value::boolean);
    section.set("sharedDatabase", &mut config.shared_database, findings, value::boolean);
    config.webhook_secret_file = section.take("webhookSecretFile", findings, |v| value::path(v, folder));
    Some(SectionConfig::new(config))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use switchboard_kernel::config::{Config, ConfigErrors};
    use switchboard_kernel::family::Families;

    use super::*;
    use crate::family::GitopsFamily;

    fn parse(file: &str, text: &str) -> Result<Option<GitopsConfig>, ConfigErrors> {
        Config::parse(file, text, Families(&[&GitopsFamily])).map(|config| config.section().cloned())
    }

    #[test]
    fn a_section_is_read_and_an_empty_one_means_everything() {
        let text = "gitops:\n  agent: false\n  database: 'postgres://db/gitops'\n  credentialsKeyFile: keys\n";
        let config = parse("dir/switchboard.yaml", text).unwrap().unwrap();
        assert_eq!((config.backend, config.agent), (true, false));
        assert_eq!(config.credentials_key_file, Some("dir/keys".into()));
        assert_eq!(parse("s", "gitops: {}\n").unwrap(), Some(GitopsConfig::default()));
        assert_eq!(parse("s", "{}\n").unwrap(), None);
        let error = parse("s", "gitops: {agnet: true}\n").unwrap_err().to_string();
        assert!(error.ends_with("hint: did you mean `agent`?"), "{error}");
    }
}
