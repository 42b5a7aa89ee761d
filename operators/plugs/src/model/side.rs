//! What a plug and a socket have in common.

use std::collections::BTreeMap;

use super::apparatus::Apparatus;
use super::field::{Field, ModelError};
use super::resource::Resource;
use super::var::Var;

/// Values by name, from several places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
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
pub struct Side {
    /// Fields of other objects, for the configuration.
    pub vars: Vec<Var>,
    /// Fields of other objects, for the result.
    pub result_vars: Vec<Var>,
    /// Preliminary values.
    pub data: Sources,
    /// The configuration.
    pub config: Sources,
    /// The result.
    pub result: Sources,
    /// Whom it acts as.
    pub service_account: String,
    /// A program that is told of events.
    pub apparatus: Option<Apparatus>,
    /// Objects to make.
    pub resources: Vec<Resource>,
    /// Objects to make once there are results.
    pub result_resources: Vec<Resource>,
    /// Any change of it is an update.
    pub epoch: String,
}

impl Sources {
    fn read(spec: &Field<'_>, name: &str) -> Result<Self, ModelError> {
        Ok(Self {
            inline: spec.at(name).texts()?,
            config_map: spec.at(&format!("{name}ConfigMapName")).filled_text()?,
            secret: spec.at(&format!("{name}SecretName")).filled_text()?,
            template: spec.at(&format!("{name}Template")).texts()?,
        })
    }
}

impl Side {
    pub(super) fn read(spec: &Field<'_>) -> Result<Self, ModelError> {
        let vars = |name: &str| spec.at(name).items()?.iter().map(Var::read).collect::<Result<Vec<_>, _>>();
        let resources = spec.at("resources").items()?;
        let results = spec.at("resultResources").items()?;
        let account = spec.at("serviceAccountName").filled_text()?;
        Ok(Self {
            vars: vars("vars")?,
            result_vars: vars("resultVars")?,
            data: Sources::read(spec, "data")?,
            config: Sources::read(spec, "config")?,
            result: Sources::read(spec, "result")?,
            service_account: account.unwrap_or_else(|| "default".to_string()),
            apparatus: Apparatus::read(&spec.at("apparatus"))?,
            resources: resources.iter().map(Resource::read).collect::<Result<_, _>>()?,
            result_resources: results.iter().map(Resource::read).collect::<Result<_, _>>()?,
            epoch: spec.at("epoch").text()?.unwrap_or_default(),
        })
    }
}
