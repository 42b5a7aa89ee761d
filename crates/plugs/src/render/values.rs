//! Data, vars, configurations and results.

use serde_json::Value;

use super::contract::checked;
use super::engine::Engine;
use super::roots::Roots;
use super::{Both, Pair, Source, Trouble, Values, Wanted, Who};
use crate::model::{Meta, Var};
use crate::path;

/// The preliminary values of both sides.
///
/// # Errors
/// [`Trouble`] of the source.
pub fn data(source: &dyn Source, pair: Pair<'_>) -> Result<Both<Values>, Trouble> {
    let of = |who: Who| {
        let (from, namespace) = (&pair.side(who).data, &pair.meta(who).namespace);
        let mut values = Values::new();
        if let Some(name) = &from.secret {
            values.extend(source.secret(who, namespace, name)?);
        }
        values.extend(from.inline.clone());
        if let Some(name) = &from.config_map {
            values.extend(source.config_map(who, namespace, name)?);
        }
        Ok::<Values, Trouble>(values)
    };
    Ok(Both { plug: of(Who::Plug)?, socket: of(Who::Socket)? })
}

/// Fields of other objects, as texts.
///
/// # Errors
/// [`Trouble`] when an object or a field is not there.
pub fn vars(source: &dyn Source, engine: &Engine, pair: Pair<'_>, who: Who, vars: &[Var]) -> Result<Values, Trouble> {
    let root = Roots::pair(pair).value();
    let one = |var: &Var| {
        let object = &var.object;
        let templated = |template: &str, plain: &str, field: &str| match template.is_empty() {
            true => Ok(plain.to_string()),
            false => engine.text(&format!("{}.objref.{field}", var.place), template, &root),
        };
        let name = templated(&object.template_name, &object.name, "templateName")?;
        let namespace = templated(&object.template_namespace, &object.namespace, "templateNamespace")?;
        let wanted = Wanted {
            api_version: &object.api_version,
            kind: &object.kind,
            namespace: own_namespace(pair.meta(who), &namespace)?,
            name: &name,
        };
        Ok::<_, Trouble>((var.name.clone(), field_of(&source.object(who, &wanted)?, var, &wanted)?))
    };
    vars.iter().map(one).collect()
}

fn own_namespace<'a>(own: &'a Meta, namespace: &str) -> Result<&'a str, Trouble> {
    if namespace.is_empty() || namespace == own.namespace {
        return Ok(&own.namespace);
    }
    Err(Trouble::Wrong(format!("var objRef namespace {namespace} must be {}", own.namespace)))
}

fn field_of(object: &Value, var: &Var, wanted: &Wanted<'_>) -> Result<String, Trouble> {
    let wrong = |error: path::PathError| Trouble::Wrong(format!("{}.fieldref.fieldPath: {error}", var.place));
    let found = path::read(object, &var.field_path).map_err(wrong)?.filter(|found| !found.is_null());
    let text = if found.is_some() { path::text(object, &var.field_path).map_err(wrong)? } else { None };
    match (text, &var.default) {
        (Some(text), _) => Ok(text),
        (_, Some(default)) => Ok(default.clone()),
        _ => Err(Trouble::Missing(format!(
            "var '{}': {} {} has no field {}",
            var.name, wanted.kind, wanted.name, var.field_path
        ))),
    }
}

/// The configuration of a side, as its interface lets it through. `told` is what its apparatus says.
///
/// # Errors
/// [`Trouble`] of the source, of a template, or of the interface.
pub fn config(
    source: &dyn Source,
    engine: &Engine,
    pair: Pair<'_>,
    who: Who,
    data: &Both<Values>,
    own_vars: &Values,
    told: Option<&Values>,
) -> Result<Values, Trouble> {
    let (from, namespace) = (&pair.side(who).config, &pair.meta(who).namespace);
    let mut values = Values::new();
    if let Some(name) = &from.secret {
        values.extend(source.secret(who, namespace, name)?);
    }
    values.extend(from.inline.clone());
    if !from.template.is_empty() {
        let root = Roots::pair(pair).data(data).with("vars", own_vars).value();
        for (name, template) in &from.template {
            values.insert(name.clone(), engine.text(&format!("spec.configTemplate.{name}"), template, &root)?);
        }
    }
    if let Some(name) = &from.config_map {
        values.extend(source.config_map(who, namespace, name)?);
    }
    values.extend(told.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    checked(pair.socket.interface.as_ref(), who, "config", values)
}

/// The result of a side, as its interface lets it through.
///
/// # Errors
/// [`Trouble`] of the source, of a template, or of the interface.
pub fn result(
    source: &dyn Source,
    engine: &Engine,
    pair: Pair<'_>,
    who: Who,
    data: &Both<Values>,
    config: &Both<Values>,
) -> Result<Values, Trouble> {
    let (from, namespace) = (&pair.side(who).result, &pair.meta(who).namespace);
    let own_vars = vars(source, engine, pair, who, &pair.side(who).result_vars)?;
    let mut values = Values::new();
    if let Some(name) = &from.secret {
        values.extend(source.secret(who, namespace, name)?);
    }
    values.extend(from.inline.clone());
    if !from.template.is_empty() {
        let root = Roots::pair(pair).data(data).config(config).with("resultVars", &own_vars);
        // The existing operator gives the socket its result vars under this name.
        let root = if who == Who::Socket { root.with("vars", &own_vars) } else { root }.value();
        for (name, template) in &from.template {
            values.insert(name.clone(), engine.text(&format!("spec.resultTemplate.{name}"), template, &root)?);
        }
    }
    if let Some(name) = &from.config_map {
        values.extend(source.config_map(who, namespace, name)?);
    }
    checked(pair.socket.interface.as_ref(), who, "result", values)
}
