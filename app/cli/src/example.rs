//! Examples for the embedded cluster: `switchboard up --example postgres`.

mod repository;

use std::path::Path;

use clap::ValueEnum;
use switchboard_object::yaml;
use switchboard_runtime::object_apply::apply;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;

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
