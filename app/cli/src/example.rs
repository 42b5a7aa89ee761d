//! Examples for the embedded cluster: `switchboard up --example postgres`.

mod repository;

use std::path::Path;

use clap::ValueEnum;
use serde_json::Value;
use switchboard_engine::kinds::{APPLICATIONS, PROJECTS};
use switchboard_gitops::resources::DEPLOYMENTS;
use switchboard_kernel::resource::Resource;
use switchboard_object::yaml;
use switchboard_plugs::kinds::built_in;
use switchboard_plugs::model::{PLUGS, SOCKETS};

use crate::failure::CommandError;
use crate::stderr::print_stderr;

/// Field manager of the applied objects.
const MANAGER: &str = "switchboard-example";

/// Example that is part of this binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Example {
    /// A web application and a database, integrated by a plug and a socket
    Postgres,
    /// Two applications in a git repository, deployed by the embedded engine
    Gitops,
    /// An application of that repository, deployed through the GitOps Service
    Deployments,
}

impl Example {
    fn files(self) -> &'static [&'static str] {
        match self {
            Example::Postgres => &[
                include_str!("../../../examples/plugs/postgres/1-rights.yaml"),
                include_str!("../../../examples/plugs/postgres/2-database.yaml"),
                include_str!("../../../examples/plugs/postgres/3-application.yaml"),
            ],
            Example::Gitops => &[include_str!("../../../examples/gitops/applications.yaml")],
            Example::Deployments => &[include_str!("../../../examples/gitops/deployment.yaml")],
        }
    }

    /// Applies the example and prints hints for a look at it. `home` is the folder for the example's repository.
    pub async fn apply(self, client: &kube::Client, home: &Path) -> Result<(), CommandError> {
        let repository = match self {
            Example::Postgres => String::new(),
            Example::Gitops | Example::Deployments => repository::make(&home.join("example-repository"))?,
        };
        for text in self.files() {
            for document in yaml::read_all(&text.replace("REPOSITORY", &repository))? {
                apply(client, &document.value).await?;
            }
        }
        match self {
            Example::Postgres => {
                print_stderr(
                    "hint: show it with `switchboard plugs status --relations` and `kubectl -n shop get secret,deployment`",
                );
                print_stderr(
                    "hint: rotate the password with `kubectl -n data patch secret postgres -p '{\"stringData\":{\"password\":\"battery-staple\"}}'`, then show the connection with `kubectl -n shop get secret web-database -o jsonpath='{.data.url}' | base64 -d`",
                );
            }
            Example::Gitops => {
                print_stderr("hint: show the deployed applications with `kubectl -n argocd get applications`");
                let folder = repository.trim_start_matches("file://");
                print_stderr(format_args!(
                    "hint: commit a change to its repository {folder}; it is deployed after three minutes at most, plus the time of a sync"
                ));
            }
            Example::Deployments => {
                print_stderr("hint: show the teams' applications with `switchboard gitops get -n team`")
            }
        }
        Ok(())
    }
}

/// Applies the CustomResourceDefinitions of plugs and sockets.
pub async fn install_kinds(client: &kube::Client) -> Result<(), CommandError> {
    for definition in switchboard_plugs::crds::crds() {
        apply(client, &definition).await?;
    }
    Ok(())
}

/// An object of the example could not be applied.
#[derive(Debug, thiserror::Error)]
#[error("could not apply {kind} {name}")]
struct ExampleError {
    kind: String,
    name: String,
    source: CommandError,
}

async fn apply(client: &kube::Client, object: &Value) -> Result<(), CommandError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let failed = |source: CommandError| ExampleError { kind: kind.clone(), name: name.clone(), source };
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
