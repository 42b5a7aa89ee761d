//! Objects that are applied to the embedded cluster at its start: kinds and examples.

use serde_json::Value;
use switchboard_engine::kinds::{APPLICATIONS, PROJECTS};
use switchboard_gitops::resources::DEPLOYMENTS;
use switchboard_kernel::resource::Resource;
use switchboard_plugs::kinds::built_in;
use switchboard_plugs::model::{PLUGS, SOCKETS};

use crate::failure::CommandError;

/// Field manager of the applied objects.
const MANAGER: &str = "switchboard-example";

/// The object could not be applied.
#[derive(Debug, thiserror::Error)]
#[error("could not apply {kind} {name}")]
struct ApplyError {
    kind: String,
    name: String,
    source: CommandError,
}

/// Applies an object; an existing Secret stays unchanged.
pub async fn apply(client: &kube::Client, object: &Value) -> Result<(), CommandError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let failed = |source: CommandError| ApplyError { kind: kind.clone(), name: name.clone(), source };
    let of = [PLUGS, SOCKETS, APPLICATIONS, PROJECTS, DEPLOYMENTS].into_iter().find(|known| known.kind == *kind);
    let resource = of.or_else(|| built_in(&version, &kind).cloned());
    let resource = resource.ok_or_else(|| failed("unknown kind".into()))?;
    let path = path(&resource, &text("/metadata/namespace"), &name);
    if kind == "Secret" && exists(client, &path).await.map_err(failed)? {
        // A restart must not overwrite a Secret that was rotated since.
        return Ok(());
    }
    let request = http::Request::patch(format!("{path}?fieldManager={MANAGER}&force=true"))
        .header("Content-Type", "application/apply-patch+yaml")
        .body(object.to_string().into_bytes());
    let request = request.map_err(|error| failed(error.into()))?;
    client.request::<Value>(request).await.map_err(|error| failed(error.into()))?;
    Ok(())
}

async fn exists(client: &kube::Client, path: &str) -> Result<bool, CommandError> {
    match client.request::<Value>(http::Request::get(path).body(Vec::new())?).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn path(resource: &Resource, namespace: &str, name: &str) -> String {
    let root = if resource.group.is_empty() { "api".to_string() } else { format!("apis/{}", resource.group) };
    let within = if resource.namespaced { format!("namespaces/{namespace}/") } else { String::new() };
    format!("/{root}/{}/{within}{}/{name}", resource.version, resource.plural)
}
