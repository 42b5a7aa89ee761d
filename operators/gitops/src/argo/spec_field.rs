//! The column `spec_field`: an Application as the original writes it, to the byte, and as it reads it, with some patience.

use serde_json::{Map, Value, json};
use switchboard_object::yaml;

use super::{API_VERSION, keys};

/// The largest text that is read.
const MAX_SPEC_BYTES: usize = 1 << 20;

/// What an automated deployment adds for deletions.
const PRUNE: &str = "PrunePropagationPolicy=background";

/// What an Application says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The namespace to deploy to.
    pub destination_namespace: &'a str,
    /// The cluster to deploy to, by its name in Argo CD.
    pub destination_name: &'a str,
    /// The repository.
    pub repo_url: &'a str,
    /// The directory in it.
    pub path: &'a str,
    /// The revision.
    pub target_revision: &'a str,
    /// Options the tenant gave.
    pub sync_options: &'a [String],
    /// Whether it deploys itself.
    pub automated: bool,
    /// The project.
    pub project: &'a str,
}

/// Why a text is not understood.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It is no YAML.
    #[error("could not read the Application's spec")]
    Yaml(#[source] yaml::YamlError),
    /// It is YAML of something else.
    #[error("could not find a spec in the Application's text")]
    NoSpec,
    /// It is longer than any that is written.
    #[error("could not read the Application's spec: it has {0} bytes")]
    TooLong(usize),
}

/// The text of the column. Keys stand in the order of the original's fields.
pub fn write(wanted: &Wanted<'_>) -> String {
    let mut text = String::new();
    let mut line = |path: &[&str], value: Value| text.push_str(&last_lines(path, value));
    line(&["fauxtypemeta"], Value::Null);
    line(&["fauxtypemeta", "kind"], json!("Application"));
    line(&["fauxtypemeta", "apiversion"], json!(API_VERSION));
    line(&["fauxobjectmeta"], Value::Null);
    line(&["fauxobjectmeta", "name"], json!(wanted.name));
    line(&["fauxobjectmeta", "namespace"], json!(wanted.namespace));
    line(&["spec"], Value::Null);
    line(&["spec", "source"], Value::Null);
    line(&["spec", "source", "repourl"], json!(wanted.repo_url));
    line(&["spec", "source", "path"], json!(wanted.path));
    line(&["spec", "source", "targetrevision"], json!(wanted.target_revision));
    line(&["spec", "destination"], Value::Null);
    line(&["spec", "destination", "server"], json!(""));
    line(&["spec", "destination", "namespace"], json!(wanted.destination_namespace));
    line(&["spec", "destination", "name"], json!(wanted.destination_name));
    line(&["spec", "project"], json!(wanted.project));
    text.push_str(&sync_policy(wanted));
    text.push_str(EMPTY_STATUS);
    text
}

fn sync_policy(wanted: &Wanted<'_>) -> String {
    let mut options: Vec<&str> = if wanted.automated { vec![PRUNE] } else { vec![] };
    options.extend(wanted.sync_options.iter().map(String::as_str));
    if options.is_empty() {
        return "  syncpolicy: null\n".to_string();
    }
    let mut text = "  syncpolicy:\n".to_string();
    if wanted.automated {
        text.push_str("    automated:\n      prune: true\n      selfheal: true\n      allowempty: true\n");
    } else {
        text.push_str("    automated: null\n");
    }
    text.push_str(&last_lines(&["spec", "syncpolicy", "syncoptions"], json!(options)));
    if wanted.automated {
        text.push_str("    retry:\n      limit: -1\n      backoff:\n        duration: 5s\n        factor: 2\n        maxduration: 3m\n");
    } else {
        text.push_str("    retry: null\n");
    }
    text
}

/// The lines that a value takes at the end of a path: what the emitter writes for it there, without the lines above. A null is a
/// key that others follow below.
fn last_lines(path: &[&str], value: Value) -> String {
    let Some((last, above)) = path.split_last() else { return String::new() };
    if value.is_null() {
        return format!("{}{last}:\n", "  ".repeat(above.len()));
    }
    let nested = path.iter().rev().fold(value, |inner, key| {
        let mut map = Map::new();
        map.insert((*key).to_string(), inner);
        Value::Object(map)
    });
    let whole = yaml::to_string(&nested);
    whole.split_inclusive('\n').skip(above.len()).collect()
}

/// What the original writes for a status that says nothing.
const EMPTY_STATUS: &str = "status:
  resources: []
  sync:
    status: \"\"
    comparedto:
      source:
        repourl: \"\"
        path: \"\"
        targetrevision: \"\"
      destination:
        server: \"\"
        namespace: \"\"
        name: \"\"
    revision: \"\"
    revisions: []
  health:
    status: \"\"
    message: \"\"
  conditions: []
  operationstate: null
";

/// The text without the cluster to deploy to, for an Application whose target was removed: Argo CD is to forget it, too.
///
/// A text of somebody else, who writes it in another form, stays as it is.
pub fn without_target(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| if line.starts_with(TARGET_LINE) { NO_TARGET_LINE } else { line }).collect()
}

/// How the line of a target begins.
const TARGET_LINE: &str = "    name: managed-env-";
const NO_TARGET_LINE: &str = "    name: \"\"\n";

/// The `.spec` that a text means, with the keys Argo CD knows. All but the spec is ignored.
pub fn read(text: &str) -> Result<Value, SpecError> {
    if text.len() > MAX_SPEC_BYTES {
        return Err(SpecError::TooLong(text.len()));
    }
    let document = yaml::read(text).map_err(SpecError::Yaml)?;
    let Value::Object(map) = document.value else { return Err(SpecError::NoSpec) };
    let spec = map.into_iter().find(|(key, _)| key.eq_ignore_ascii_case("spec")).map(|(_, spec)| spec);
    match spec {
        Some(spec @ Value::Object(_)) => Ok(keys::without_nothing(keys::restore(spec))),
        _ => Err(SpecError::NoSpec),
    }
}
