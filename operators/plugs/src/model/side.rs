//! What a plug and a socket have in common.

use std::collections::BTreeMap;

use super::apparatus::ApparatusSpec;
use super::field::{ModelError, SpecField};
use super::resource::ResourceEntry;
use super::var::Var;

/// Values by name, from several places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueSources {
    /// Written down.
    pub inline: BTreeMap<String, String>,
    /// The data of a ConfigMap of the same namespace.
    pub config_map: Option<String>,
    /// The data of a Secret of the same namespace.
    pub secret: Option<String>,
    /// Templates, one for each name.
    pub template: BTreeMap<String, String>,
}

/// What one side of a coupling brings.
#[derive(Clone, Debug, Default)]
pub struct SideSpec {
    /// Fields of other objects, for the configuration.
    pub vars: Vec<Var>,
    /// Fields of other objects, for the result.
    pub result_vars: Vec<Var>,
    /// Preliminary values.
    pub data: ValueSources,
    /// The configuration.
    pub config: ValueSources,
    /// The result.
    pub result: ValueSources,
    /// Whom it acts as.
    pub service_account: String,
    /// A program that is told of events.
    pub apparatus: Option<ApparatusSpec>,
    /// Objects to make.
    pub resources: Vec<ResourceEntry>,
    /// Objects to make once there are results.
    pub result_resources: Vec<ResourceEntry>,
    /// Any change of it is an update.
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
