//! Data, vars, configurations and results.

use std::collections::BTreeMap;

use serde_json::Value;

use super::contract::checked;
use super::engine::Engine;
use super::roots::Roots;
use super::{Both, Pair, Source, Trouble, Values, Wanted, Who};
use crate::model::{Meta, Sources, Var};
use crate::path;

/// The preliminary values of both sides.
///
/// # Errors
/// [`Trouble`] of the source.
pub fn data(source: &dyn Source, pair: Pair<'_>) -> Result<Both<Values>, Trouble> {
    let of = |who: Who| {
        let mut values = Values::new();
        given(source, pair, who, Given::Data, &mut values)?;
        values.extend(pair.side(who).data.inline.clone());
        mapped(source, pair, who, Given::Data, &mut values)?;
        Ok::<Values, Trouble>(values)
    };
    Ok(Both { plug: of(Who::Plug)?, socket: of(Who::Socket)? })
}

/// Which of a side's three it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Preliminary values.
    Data,
    /// The configuration.
    Config,
    /// The result.
    Result,
}

impl Given {
    fn of<'a>(self, pair: Pair<'a>, who: Who) -> (&'static str, &'a Sources) {
        let side = pair.side(who);
        match self {
            Given::Data => ("data", &side.data),
            Given::Config => ("config", &side.config),
            Given::Result => ("result", &side.result),
        }
    }
}

/// What its Secret gives.
fn given(source: &dyn Source, pair: Pair<'_>, who: Who, what: Given, values: &mut Values) -> Result<(), Trouble> {
    let (word, from) = what.of(pair, who);
    if let Some(name) = &from.secret {
        let place = || pair.place(who, &format!("spec.{word}SecretName"));
        values.extend(source.secret(who, &pair.meta(who).namespace, name).map_err(|trouble| trouble.at(&place()))?);
    }
    Ok(())
}

/// What its ConfigMap gives.
fn mapped(source: &dyn Source, pair: Pair<'_>, who: Who, what: Given, values: &mut Values) -> Result<(), Trouble> {
    let (word, from) = what.of(pair, who);
    if let Some(name) = &from.config_map {
        let place = || pair.place(who, &format!("spec.{word}ConfigMapName"));
        values.extend(source.config_map(who, &pair.meta(who).namespace, name).map_err(|trouble| trouble.at(&place()))?);
    }
    Ok(())
}

/// Fields of other objects, as texts.
///
/// # Errors
/// [`Trouble`] when an object or a field is not there.
pub fn vars(source: &dyn Source, engine: &Engine, pair: Pair<'_>, who: Who, vars: &[Var]) -> Result<Values, Trouble> {
    let root = Roots::pair(pair).value();
    let one = |var: &Var| {
        let object = &var.object;
        let place = |field: &str| pair.place(who, &format!("{}.{field}", var.place));
        let templated = |template: &str, plain: &str, field: &str| match template.is_empty() {
            true => Ok(plain.to_string()),
            false => engine.text(&place(field), template, &root),
        };
        let name = templated(&object.template_name, &object.name, "objref.templateName")?;
        let namespace = templated(&object.template_namespace, &object.namespace, "objref.templateNamespace")?;
        let said = if object.template_namespace.is_empty() { "objref.namespace" } else { "objref.templateNamespace" };
        let own = own_namespace(pair.meta(who), &namespace).map_err(|trouble| trouble.at(&place(said)))?;
        let wanted = Wanted { api_version: &object.api_version, kind: &object.kind, namespace: own, name: &name };
        let found = source.object(who, &wanted).map_err(|trouble| trouble.at(&place("objref")))?;
        let text = field_of(&found, var, &wanted).map_err(|trouble| trouble.at(&place("fieldref.fieldPath")))?;
        Ok::<_, Trouble>((var.name.clone(), text))
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
    let wrong = |error: path::PathError| Trouble::Wrong(error.to_string());
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
    let mut values = config_before(source, engine, pair, who, data, own_vars)?;
    values.extend(told.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    checked(pair.socket.interface.as_ref(), who, "config", values)
}

/// The configuration of a side before its apparatus is asked and its interface looks at it.
///
/// # Errors
/// [`Trouble`] of the source or of a template.
pub fn config_before(
    source: &dyn Source,
    engine: &Engine,
    pair: Pair<'_>,
    who: Who,
    data: &Both<Values>,
    own_vars: &Values,
) -> Result<Values, Trouble> {
    let from = &pair.side(who).config;
    let mut values = Values::new();
    given(source, pair, who, Given::Config, &mut values)?;
    values.extend(from.inline.clone());
    if !from.template.is_empty() {
        let root = config_root(pair, data, own_vars).value();
        for (name, template) in &from.template {
            let place = pair.place(who, &format!("spec.configTemplate.{name}"));
            values.insert(name.clone(), engine.text(&place, template, &root)?);
        }
    }
    mapped(source, pair, who, Given::Config, &mut values)?;
    Ok(values)
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
    let from = &pair.side(who).result;
    let own_vars = vars(source, engine, pair, who, &pair.side(who).result_vars)?;
    let mut values = Values::new();
    given(source, pair, who, Given::Result, &mut values)?;
    values.extend(from.inline.clone());
    if !from.template.is_empty() {
        let root = result_root(pair, who, data, config, &own_vars).value();
        for (name, template) in &from.template {
            let place = pair.place(who, &format!("spec.resultTemplate.{name}"));
            values.insert(name.clone(), engine.text(&place, template, &root)?);
        }
    }
    mapped(source, pair, who, Given::Result, &mut values)?;
    checked(pair.socket.interface.as_ref(), who, "result", values)
}

/// What templates of a config see.
pub fn config_root(pair: Pair<'_>, data: &Both<Values>, own_vars: &Values) -> Roots {
    Roots::pair(pair).data(data).with("vars", own_vars)
}

/// What templates of a result see.
pub fn result_root(pair: Pair<'_>, who: Who, data: &Both<Values>, config: &Both<Values>, own_vars: &Values) -> Roots {
    let root = Roots::pair(pair).data(data).config(config).with("resultVars", own_vars);
    // The existing operator gives the socket its result vars under this name.
    if who == Who::Socket { root.with("vars", own_vars) } else { root }
}

/// What a side's sources give under each name before the interface looks at it, whatever becomes of the other names: nothing where
/// a template cannot be rendered.
///
/// # Errors
/// [`Trouble`] of the source.
pub fn each(
    source: &dyn Source,
    engine: &Engine,
    pair: Pair<'_>,
    who: Who,
    what: Given,
    root: &Roots,
) -> Result<BTreeMap<String, Option<String>>, Trouble> {
    let (word, from) = what.of(pair, who);
    let mut values = Values::new();
    given(source, pair, who, what, &mut values)?;
    values.extend(from.inline.clone());
    let mut all: BTreeMap<String, Option<String>> = values.into_iter().map(|(name, text)| (name, Some(text))).collect();
    let root = root.value();
    for (name, template) in &from.template {
        let place = pair.place(who, &format!("spec.{word}Template.{name}"));
        all.insert(name.clone(), engine.text(&place, template, &root).ok());
    }
    let mut values = Values::new();
    mapped(source, pair, who, what, &mut values)?;
    all.extend(values.into_iter().map(|(name, text)| (name, Some(text))));
    Ok(all)
}
