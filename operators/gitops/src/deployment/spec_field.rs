//! Column `spec_field`: an Application in the format of managed-gitops. Writing matches it byte for byte, reading is
//! tolerant.

use serde_json::{Map, Value, json};
use switchboard_object::yaml;

use crate::argocd::{API_VERSION, keys};

/// Maximum size of a text that is read.
const MAX_SPEC_BYTES: usize = 1 << 20;

/// Sync option that automated deployments get for deletions.
const PRUNE: &str = "PrunePropagationPolicy=background";

/// Fields of an Application's spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationSpec<'a> {
    /// Name of the Application.
    pub name: &'a str,
    /// Namespace of the Application.
    pub namespace: &'a str,
    /// Destination namespace.
    pub destination_namespace: &'a str,
    /// Name of the destination cluster in Argo CD.
    pub destination_name: &'a str,
    /// Repository URL.
    pub repo_url: &'a str,
    /// Directory in the repository.
    pub path: &'a str,
    /// Target revision.
    pub target_revision: &'a str,
    /// Sync options of the tenant.
    pub sync_options: &'a [String],
    /// Whether Argo CD syncs automatically.
    pub automated: bool,
    /// Project.
    pub project: &'a str,
}

/// Error of reading a spec.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The text is not YAML.
    #[error("could not read the Application's spec")]
    Yaml(#[source] yaml::YamlError),
    /// The YAML contains no spec.
    #[error("could not find a spec in the Application's text")]
    NoSpec,
    /// The text exceeds the maximum size.
    #[error("could not read the Application's spec: it has {0} bytes, more than the limit of 1 MiB")]
    TooLong(usize),
}

/// Writes the text of the column, with keys in the order of managed-gitops's Go fields.
pub fn write(wanted: &ApplicationSpec<'_>) -> String {
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

fn sync_policy(wanted: &ApplicationSpec<'_>) -> String {
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

/// Returns the lines of a value at the end of a path, without the lines of its parents. A null stands for a key whose
/// children follow.
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

/// Text that managed-gitops writes for an empty status.
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

/// Removes the destination cluster, for an Application whose environment was deleted, so that Argo CD forgets the
/// cluster.
///
/// A text in another format than that of [`write()`] is returned unchanged.
pub fn without_target(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| if line.starts_with(TARGET_LINE) { NO_TARGET_LINE } else { line }).collect()
}

/// Beginning of the line with the destination cluster.
const TARGET_LINE: &str = "    name: managed-env-";
const NO_TARGET_LINE: &str = "    name: \"\"\n";

/// Returns the `.spec` of a text with the case of Argo CD's keys restored. Everything else is ignored.
pub fn read(text: &str) -> Result<Value, SpecError> {
    if text.len() > MAX_SPEC_BYTES {
        return Err(SpecError::TooLong(text.len()));
    }
    let document = yaml::read(text).map_err(SpecError::Yaml)?;
    let Value::Object(map) = document.value else { return Err(SpecError::NoSpec) };
    let spec = map.into_iter().find(|(key, _)| key.eq_ignore_ascii_case("spec")).map(|(_, spec)| spec);
    match spec {
        Some(spec @ Value::Object(_)) => Ok(keys::without_empty(keys::restore_case(spec))),
        _ => Err(SpecError::NoSpec),
    }
}
