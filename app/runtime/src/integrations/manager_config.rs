//! Settings of the integrations manager from a configuration and the environment variables.

use std::collections::BTreeMap;

use switchboard_integrations::config::IntegrationsConfig;
use switchboard_integrations::model::DataScope;
use switchboard_integrations::operator::{DEFAULT_ALWAYS, DEFAULT_SHARE_PERCENT, DeletionGuard};
use switchboard_integrations::settings::{self, DEFAULT_UPSTREAM, RenderSettings};

use super::meta;
use crate::failure::CommandError;

/// Returns the settings of a configuration. Settings that it lacks come from the variables of qontract-reconcile.
pub fn settings(
    config: &IntegrationsConfig,
    variables: BTreeMap<String, String>,
) -> Result<RenderSettings, CommandError> {
    let or = |section_settings: &Option<String>, name: &str| {
        let variable = variables.get(name).filter(|text| !text.is_empty());
        section_settings.clone().filter(|text| !text.is_empty()).or_else(|| variable.cloned())
    };
    let scope = DataScope {
        environment: or(&config.environment, "ENVIRONMENT_NAME"),
        upstream: or(&config.upstream, "INTEGRATIONS_MANAGER_UPSTREAM"),
        compat: config.compat,
    };
    let upstream = scope.upstream.clone().unwrap_or_else(|| DEFAULT_UPSTREAM.to_string());
    let commit = |(reference, commit): (&String, &String)| ((upstream.clone(), reference.clone()), commit.clone());
    let image = or(&config.image, "INTEGRATIONS_MANAGER_IMAGE");
    let image_tag_from_ref = match config.image_tag_from_ref.is_empty() {
        true => references(variables.get(REFERENCES).map_or("", String::as_str))?,
        false => config.image_tag_from_ref.clone(),
    };
    Ok(RenderSettings {
        scope,
        image,
        image_tag_from_ref,
        commits: config.commits.iter().map(commit).collect(),
        meta: meta(config.options.as_deref())?,
        variables,
    })
}

const REFERENCES: &str = "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF";

/// Parses `ENV=REF` pairs separated by spaces.
fn references(text: &str) -> Result<BTreeMap<String, String>, CommandError> {
    let read = text.split_whitespace().map(settings::parse_reference).collect::<Result<_, _>>();
    read.map_err(|why| format!("{REFERENCES}: {why}\nhint: write it as `stage=COMMIT production=COMMIT`").into())
}

/// Returns the limit on deletions.
pub fn guard(config: &IntegrationsConfig) -> DeletionGuard {
    DeletionGuard {
        share_percent: config.delete_share.map_or(DEFAULT_SHARE_PERCENT, u64::from),
        always: config.delete_floor.map_or(DEFAULT_ALWAYS, u64::from),
        allowed: config.allow_deletes.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use switchboard_integrations::family::IntegrationsFamily;
    use switchboard_kernel::config::Config;
    use switchboard_kernel::family::Families;

    use super::*;

    fn parse(text: &str) -> IntegrationsConfig {
        let config = Config::parse("s.yaml", text, Families(&[&IntegrationsFamily])).unwrap();
        config.section::<IntegrationsConfig>().unwrap().clone()
    }

    fn render_settings(section: &str, variables: &[(&str, &str)]) -> Result<RenderSettings, CommandError> {
        let text = format!("integrations: {{source: x{section}}}");
        let config = parse(&text);
        settings(&config, variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    /// Spec 1.1: the deployment of the integrations-manager sets variables.
    #[test]
    fn variables_of_qontract_reconcile_are_defaults() {
        let variables = [
            ("ENVIRONMENT_NAME", "stage"),
            ("INTEGRATIONS_MANAGER_UPSTREAM", "https://up"),
            ("INTEGRATIONS_MANAGER_IMAGE", "mine"),
            (REFERENCES, "  stage=abc  production=def "),
        ];
        let settings = render_settings("", &variables).unwrap();
        assert_eq!(settings.scope.environment.as_deref(), Some("stage"));
        assert_eq!((settings.caller(), settings.image()), ("https://up", "mine"));
        assert_eq!(settings.image_tag_from_ref["production"], "def");
        let section_settings = ", environment: e, upstream: u, image: i, imageTagFromRef: {e: r}, commits: {r: c}";
        let settings = render_settings(section_settings, &variables).unwrap();
        assert_eq!(settings.scope.environment.as_deref(), Some("e"));
        assert_eq!((settings.caller(), settings.image(), settings.image_tag_from_ref.len()), ("u", "i", 1));
        assert_eq!(settings.commit("r").unwrap(), "c");
        let settings = render_settings("", &[("ENVIRONMENT_NAME", ""), (REFERENCES, "")]).unwrap();
        assert_eq!((settings.scope, settings.image_tag_from_ref.len()), (DataScope::default(), 0));
        let wrong = render_settings("", &[(REFERENCES, "stage")]).unwrap_err().to_string();
        assert!(wrong.contains(REFERENCES) && wrong.contains("hint:"), "{wrong}");
    }

    #[test]
    fn deletion_limit_is_configurable() {
        let guard = |section: &str| {
            let text = format!("integrations: {{source: x{section}}}");
            super::guard(&parse(&text))
        };
        assert_eq!(guard(""), DeletionGuard::default());
        let none = guard(", deleteShare: 10, deleteFloor: 0, allowDeletes: 3");
        assert_eq!(none, DeletionGuard { share_percent: 10, always: 0, allowed: 3 });
    }
}
