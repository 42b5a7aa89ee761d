//! Fields that a plug and a socket share.

use std::collections::BTreeMap;

use super::apparatus::ApparatusSpec;
use super::field::{ModelError, SpecField};
use super::resource::ResourceEntry;
use super::var::Var;

/// Sources of named values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueSources {
    /// Literal values.
    pub inline: BTreeMap<String, String>,
    /// Name of a ConfigMap in the same namespace.
    pub config_map: Option<String>,
    /// Name of a Secret in the same namespace.
    pub secret: Option<String>,
    /// Templates by name.
    pub template: BTreeMap<String, String>,
}

/// Fields of one side of a coupling.
#[derive(Clone, Debug, Default)]
pub struct SideSpec {
    /// Fields of other objects, for the config.
    pub vars: Vec<Var>,
    /// Fields of other objects, for the result.
    pub result_vars: Vec<Var>,
    /// Preliminary values.
    pub data: ValueSources,
    /// Sources of the config.
    pub config: ValueSources,
    /// Sources of the result.
    pub result: ValueSources,
    /// Service account of the side.
    pub service_account: String,
    /// Program that is notified of events.
    pub apparatus: Option<ApparatusSpec>,
    /// Objects to apply.
    pub resources: Vec<ResourceEntry>,
    /// Objects to apply once there are results.
    pub result_resources: Vec<ResourceEntry>,
    /// Arbitrary value; a change causes an update.
    pub epoch: String,
}

impl ValueSources {
    fn read(spec: &SpecField<'_>, name: &str) -> Result<Self, ModelError> {
        Ok(Self {
            inline: spec.at(name).text_map()?,
            config_map: spec.at(&format!("{name}ConfigMapName")).non_empty_text()?,
            secret: spec.at(&format!("{name}SecretName")).non_empty_text()?,
            template: spec.at(&format!("{name}Template")).text_map()?,
        })
    }
}

impl SideSpec {
    pub(super) fn read(spec: &SpecField<'_>) -> Result<Self, ModelError> {
        let vars = |name: &str| spec.at(name).items()?.iter().map(Var::read).collect::<Result<Vec<_>, _>>();
        let resources = spec.at("resources").items()?;
        let results = spec.at("resultResources").items()?;
        let account = spec.at("serviceAccountName").non_empty_text()?;
        Ok(Self {
            vars: vars("vars")?,
            result_vars: vars("resultVars")?,
            data: ValueSources::read(spec, "data")?,
            config: ValueSources::read(spec, "config")?,
            result: ValueSources::read(spec, "result")?,
            service_account: account.unwrap_or_else(|| "default".to_string()),
            apparatus: ApparatusSpec::read(&spec.at("apparatus"))?,
            resources: resources.iter().map(ResourceEntry::read).collect::<Result<_, _>>()?,
            result_resources: results.iter().map(ResourceEntry::read).collect::<Result<_, _>>()?,
            epoch: spec.at("epoch").text()?.unwrap_or_default(),
        })
    }
}
