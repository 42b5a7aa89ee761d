//! Data, vars, configs and results.

use std::collections::BTreeMap;

use serde_json::Value;

use super::engine::TemplateEngine;
use super::interface::apply_interface;
use super::template_root::TemplateRoot;
use super::{ComputeError, CouplingPair, CouplingSide, ObjectQuery, PerSide, ValueSource, Values};
use crate::model::{PlugMeta, ValueSources, Var};
use crate::path;

/// Returns the preliminary values of both sides.
///
/// # Errors
/// [`ComputeError`] of the source.
pub fn data(source: &dyn ValueSource, pair: CouplingPair<'_>) -> Result<PerSide<Values>, ComputeError> {
    let of = |side: CouplingSide| {
        let mut values = Values::new();
        extend_from_secret(source, pair, side, ValueGroup::Data, &mut values)?;
        values.extend(pair.side(side).data.inline.clone());
        extend_from_config_map(source, pair, side, ValueGroup::Data, &mut values)?;
        Ok::<Values, ComputeError>(values)
    };
    Ok(PerSide { plug: of(CouplingSide::Plug)?, socket: of(CouplingSide::Socket)? })
}

/// Group of a side's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueGroup {
    /// Preliminary values.
    Data,
    /// Config.
    Config,
    /// Result.
    Result,
}

impl ValueGroup {
    fn of<'a>(self, pair: CouplingPair<'a>, side: CouplingSide) -> (&'static str, &'a ValueSources) {
        let spec = pair.side(side);
        match self {
            ValueGroup::Data => ("data", &spec.data),
            ValueGroup::Config => ("config", &spec.config),
            ValueGroup::Result => ("result", &spec.result),
        }
    }
}

/// Adds the values of the Secret.
fn extend_from_secret(
    source: &dyn ValueSource,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    what: ValueGroup,
    values: &mut Values,
) -> Result<(), ComputeError> {
    let (word, from) = what.of(pair, side);
    if let Some(name) = &from.secret {
        let place = || pair.path(side, &format!("spec.{word}SecretName"));
        values.extend(source.secret(side, &pair.meta(side).namespace, name).map_err(|error| error.at(&place()))?);
    }
    Ok(())
}

/// Adds the values of the ConfigMap.
fn extend_from_config_map(
    source: &dyn ValueSource,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    what: ValueGroup,
    values: &mut Values,
) -> Result<(), ComputeError> {
    let (word, from) = what.of(pair, side);
    if let Some(name) = &from.config_map {
        let place = || pair.path(side, &format!("spec.{word}ConfigMapName"));
        values.extend(source.config_map(side, &pair.meta(side).namespace, name).map_err(|error| error.at(&place()))?);
    }
    Ok(())
}

/// Returns fields of other objects as text.
///
/// # Errors
/// [`ComputeError`] if an object or a field does not exist.
pub fn vars(
    source: &dyn ValueSource,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    vars: &[Var],
) -> Result<Values, ComputeError> {
    let root = TemplateRoot::pair(pair).value();
    let one = |var: &Var| {
        let object = &var.object;
        let place = |field: &str| pair.path(side, &format!("{}.{field}", var.path));
        let templated = |template: &str, plain: &str, field: &str| match template.is_empty() {
            true => Ok(plain.to_string()),
            false => engine.text(&place(field), template, &root),
        };
        let name = templated(&object.template_name, &object.name, "objref.templateName")?;
        let namespace = templated(&object.template_namespace, &object.namespace, "objref.templateNamespace")?;
        let said = if object.template_namespace.is_empty() { "objref.namespace" } else { "objref.templateNamespace" };
        let own = own_namespace(pair.meta(side), &namespace).map_err(|error| error.at(&place(said)))?;
        let wanted = ObjectQuery { api_version: &object.api_version, kind: &object.kind, namespace: own, name: &name };
        let found = source.object(side, &wanted).map_err(|error| error.at(&place("objref")))?;
        let text = field_of(&found, var, &wanted).map_err(|error| error.at(&place("fieldref.fieldPath")))?;
        Ok::<_, ComputeError>((var.name.clone(), text))
    };
    vars.iter().map(one).collect()
}

fn own_namespace<'a>(own: &'a PlugMeta, namespace: &str) -> Result<&'a str, ComputeError> {
    if namespace.is_empty() || namespace == own.namespace {
        return Ok(&own.namespace);
    }
    Err(ComputeError::Invalid(format!("var objRef namespace {namespace} must be {}", own.namespace)))
}

fn field_of(object: &Value, var: &Var, wanted: &ObjectQuery<'_>) -> Result<String, ComputeError> {
    let wrong = |error: path::PathError| ComputeError::Invalid(error.to_string());
    let found = path::read(object, &var.field_path).map_err(wrong)?.filter(|found| !found.is_null());
    let text = if found.is_some() { path::text(object, &var.field_path).map_err(wrong)? } else { None };
    match (text, &var.default) {
        (Some(text), _) => Ok(text),
        (_, Some(default)) => Ok(default.clone()),
        _ => Err(ComputeError::Missing(format!(
            "var '{}': {} {} has no field {}",
            var.name, wanted.kind, wanted.name, var.field_path
        ))),
    }
}

/// Returns the config of a side after the interface is applied. `apparatus_values` are the values from its apparatus.
///
/// # Errors
/// [`ComputeError`] of the source, of a template or of the interface.
pub fn config(
    source: &dyn ValueSource,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    data: &PerSide<Values>,
    own_vars: &Values,
    apparatus_values: Option<&Values>,
) -> Result<Values, ComputeError> {
    let mut values = config_before_apparatus(source, engine, pair, side, data, own_vars)?;
    values.extend(apparatus_values.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    apply_interface(pair.socket.interface.as_ref(), side, "config", values)
}

/// Returns the config of a side before its apparatus is called and the interface is applied.
///
/// # Errors
/// [`ComputeError`] of the source or of a template.
pub fn config_before_apparatus(
    source: &dyn ValueSource,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    data: &PerSide<Values>,
    own_vars: &Values,
) -> Result<Values, ComputeError> {
    let from = &pair.side(side).config;
    let mut values = Values::new();
    extend_from_secret(source, pair, side, ValueGroup::Config, &mut values)?;
    values.extend(from.inline.clone());
    if !from.template.is_empty() {
        let root = config_root(pair, data, own_vars).value();
        for (name, template) in &from.template {
            let place = pair.path(side, &format!("spec.configTemplate.{name}"));
            values.insert(name.clone(), engine.text(&place, template, &root)?);
        }
    }
    extend_from_config_map(source, pair, side, ValueGroup::Config, &mut values)?;
    Ok(values)
}

/// Returns the result of a side after the interface is applied.
///
/// # Errors
/// [`ComputeError`] of the source, of a template or of the interface.
pub fn result(
    source: &dyn ValueSource,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    data: &PerSide<Values>,
    config: &PerSide<Values>,
) -> Result<Values, ComputeError> {
    let from = &pair.side(side).result;
    let own_vars = vars(source, engine, pair, side, &pair.side(side).result_vars)?;
    let mut values = Values::new();
    extend_from_secret(source, pair, side, ValueGroup::Result, &mut values)?;
    values.extend(from.inline.clone());
    if !from.template.is_empty() {
        let root = result_root(pair, side, data, config, &own_vars).value();
        for (name, template) in &from.template {
            let place = pair.path(side, &format!("spec.resultTemplate.{name}"));
            values.insert(name.clone(), engine.text(&place, template, &root)?);
        }
    }
    extend_from_config_map(source, pair, side, ValueGroup::Result, &mut values)?;
    apply_interface(pair.socket.interface.as_ref(), side, "result", values)
}

/// Returns the root of a config's templates.
pub fn config_root(pair: CouplingPair<'_>, data: &PerSide<Values>, own_vars: &Values) -> TemplateRoot {
    TemplateRoot::pair(pair).data(data).with("vars", own_vars)
}

/// Returns the root of a result's templates.
pub fn result_root(
    pair: CouplingPair<'_>,
    side: CouplingSide,
    data: &PerSide<Values>,
    config: &PerSide<Values>,
    own_vars: &Values,
) -> TemplateRoot {
    let root = TemplateRoot::pair(pair).data(data).config(config).with("resultVars", own_vars);
    // In integration-operator, result vars of the socket have this name.
    if side == CouplingSide::Socket { root.with("vars", own_vars) } else { root }
}

/// Returns each value of a side before the interface is applied, independently of the other values; `None` if a
/// template fails.
///
/// # Errors
/// [`ComputeError`] of the source.
pub fn each_value(
    source: &dyn ValueSource,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    side: CouplingSide,
    what: ValueGroup,
    root: &TemplateRoot,
) -> Result<BTreeMap<String, Option<String>>, ComputeError> {
    let (word, from) = what.of(pair, side);
    let mut values = Values::new();
    extend_from_secret(source, pair, side, what, &mut values)?;
    values.extend(from.inline.clone());
    let mut all: BTreeMap<String, Option<String>> = values.into_iter().map(|(name, text)| (name, Some(text))).collect();
    let root = root.value();
    for (name, template) in &from.template {
        let place = pair.path(side, &format!("spec.{word}Template.{name}"));
        all.insert(name.clone(), engine.text(&place, template, &root).ok());
    }
    let mut values = Values::new();
    extend_from_config_map(source, pair, side, what, &mut values)?;
    all.extend(values.into_iter().map(|(name, text)| (name, Some(text))));
    Ok(all)
}
