//! Charts of the repository, rendered like `helm template`.

use serde_json::Value;
use switchboard_chart::chart::Chart;
use switchboard_chart::file::ChartFile;
use switchboard_chart::release::Release;
use switchboard_chart::render::{CompiledChart, RenderRequest};
use switchboard_chart::value_options::{ValueOptions, text_of_file};
use switchboard_chart::{strvals, values};
use switchboard_object::{Map, yaml};

use super::{FolderFiles, ReleaseTarget, RepositoryFileReader};
use crate::object_fields::{list, text};

pub(super) fn render(
    source: &Value,
    files: &FolderFiles,
    whose: ReleaseTarget<'_>,
    elsewhere: RepositoryFileReader<'_>,
) -> Result<Vec<Value>, String> {
    let helm = &source["helm"];
    let chart = files.iter().map(|(name, bytes)| ChartFile::new(name.clone(), bytes)).collect();
    let chart = Chart::from_files(chart).map_err(|error| error.to_string())?;
    chart.check_installable().map_err(|error| error.to_string())?;
    let or = |given: &str, otherwise: &str| if given.is_empty() { otherwise.to_string() } else { given.to_string() };
    let release =
        Release::new(or(text(helm, "/releaseName"), whose.application), or(text(helm, "/namespace"), whose.namespace));
    let mut request = RenderRequest::new(release);
    request.values = chart_values(source, elsewhere)?;
    request.skip_schema = helm["skipSchemaValidation"] == true;
    let rendered = CompiledChart::new(chart).render(&request).map_err(|error| error.to_string())?;
    let mut objects = Vec::new();
    if helm["skipCrds"] != true {
        for (name, text) in &rendered.crds {
            let read = yaml::read_all(text).map_err(|error| format!("{name}: {error}"))?;
            objects.extend(read.into_iter().map(|document| document.value).filter(|value| !value.is_null()));
        }
    }
    let tests = helm["skipTests"] == true;
    let hooks = rendered.sorted.hooks.iter().filter(|hook| !(tests && hook.is_test()));
    for manifest in rendered.sorted.manifests.iter().chain(hooks.map(|hook| &hook.manifest)) {
        objects.push(manifest.object().map_err(|error| error.to_string())?);
    }
    Ok(objects)
}

/// Merges values in order of precedence: value files, then inline values, then parameters.
fn chart_values(source: &Value, elsewhere: RepositoryFileReader<'_>) -> Result<Map, String> {
    let helm = &source["helm"];
    let read = |name: &str| match elsewhere(&repository_path(text(source, "/path"), name)) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("open {name}: no such file or directory")),
        Err(why) => Err(why),
    };
    let lenient = helm["ignoreMissingValueFiles"] == true;
    let there = |name: &str| {
        !lenient || elsewhere(&repository_path(text(source, "/path"), name)).is_ok_and(|file| file.is_some())
    };
    let mut given = ValueOptions::default();
    given
        .files
        .extend(list(helm, "/valueFiles").filter_map(Value::as_str).filter(|name| there(name)).map(String::from));
    let failed = |error: &dyn std::fmt::Display| format!("error resolving helm value files: {error}");
    let mut all = given.values(&read).map_err(|error| failed(&error))?;
    let inline = match &helm["valuesObject"] {
        Value::Object(map) => Some(map.clone()),
        _ => match text(helm, "/values") {
            "" => None,
            written => Some(values::read(written).map_err(|error| failed(&error))?),
        },
    };
    if let Some(inline) = inline {
        match values::floats(Value::Object(inline)) {
            Value::Object(inline) => values::merge(&mut all, inline),
            _ => unreachable!("an object stays one"),
        }
    }
    for parameter in list(helm, "/parameters") {
        let line = format!("{}={}", text(parameter, "/name"), escaped(text(parameter, "/value")));
        let kind = if parameter["forceString"] == true { strvals::SetKind::Text } else { strvals::SetKind::Typed };
        strvals::set(&line, &kind, &mut all).map_err(|error| format!("failed parsing --set data: {error}"))?;
    }
    for parameter in list(helm, "/fileParameters") {
        let path = text(parameter, "/path");
        let content = text_of_file(path, read(path)?)?;
        let line = format!("{}={content}", text(parameter, "/name"));
        strvals::set(&line, &strvals::SetKind::Literal, &mut all)
            .map_err(|error| format!("failed parsing --set-file data: {error}"))?;
    }
    Ok(all)
}

/// Escapes commas in a parameter's value, except in a list in braces, where they separate items.
fn escaped(value: &str) -> String {
    let is_list = value.starts_with('{') && value.ends_with('}');
    if is_list { value.to_string() } else { value.replace("\\,", ",").replace(',', "\\,") }
}

/// Resolves a path relative to the Application's folder, or to the root of the repository if it begins with `/`.
fn repository_path(folder: &str, name: &str) -> String {
    match name.strip_prefix('/') {
        Some(from_top) => from_top.to_string(),
        None => format!("{folder}/{name}"),
    }
}
