//! Server as a source: over a socket, with one bundle per run.

use std::fs;
use std::sync::Arc;

use switchboard_integrations::source::graphql::network::HttpTransport;
use switchboard_integrations::source::graphql::{AuthorizationHeader, GraphqlError, QontractServer as Client};
use switchboard_integrations::source::sha256;

use crate::example::{folder, served, without_beyond};
use crate::server::{FakeQontractServer, listen};

fn client(address: &str) -> Client {
    Client::new(address).unwrap()
}

#[test]
fn over_a_socket_with_its_header_and_only_of_the_pinned_bundle() {
    let server = Arc::new(served());
    let address = listen(server.clone());
    let client = client(&address)
        .authorized(Some(AuthorizationHeader::new("Basic c2VjcmV0")))
        .reading_as("integrations-manager");
    let bundle = client.fetch(&HttpTransport::default()).unwrap();
    let text = without_beyond(&fs::read_to_string(folder().join("bundle.json")).unwrap());
    assert_eq!(bundle.sha(), sha256(text.as_bytes()));
    assert_eq!(bundle.commit(), Some("1111111111111111111111111111111111111111"));
    let seen = server.requests();
    assert_eq!(seen[0].line, "GET /sha256");
    assert_eq!(seen[1].line, format!("GET /git-commit-info/{}", bundle.sha()));
    assert!(seen[2..].iter().all(|one| one.line == format!("POST /graphqlsha/{}", bundle.sha())), "{seen:?}");
    assert!(seen.iter().all(|one| one.authorization.as_deref() == Some("Basic c2VjcmV0")), "{seen:?}");
}

#[test]
fn a_run_keeps_its_bundle_while_the_server_loads_another() {
    let server = served();
    let first = client("http://x").sha(&server).unwrap();
    let text = without_beyond(&fs::read_to_string(folder().join("bundle.json")).unwrap());
    let renamed = text.replace("app-int-example-01", "app-int-example-09");
    server.load_after_next_query(renamed.clone());
    let bundle = client("http://x").fetch(&server).unwrap();
    assert_eq!(bundle.sha(), first);
    assert!(bundle.file("/aws/app-int-example-01/account.yml").is_some());
    let next = client("http://x").fetch(&server).unwrap();
    assert_eq!(next.sha(), sha256(renamed.as_bytes()));
    assert!(next.file("/aws/app-int-example-01/account.yml").is_none());
}

/// The manager may only read the schemas that its own file lists, as in qontract-reconcile.
#[test]
fn schemas_that_are_not_listed_are_forbidden() {
    let text = without_beyond(&fs::read_to_string(folder().join("bundle.json")).unwrap());
    let server = FakeQontractServer::new(&text.replace("\"/openshift/lean-namespace-1.yml\",\"/app-sre", "\"/app-sre"));
    let refused = client("http://x").reading_as("integrations-manager").fetch(&server).unwrap_err();
    assert!(
        matches!(&refused, GraphqlError::Forbidden(_, schemas) if *schemas == ["/openshift/lean-namespace-1.yml"]),
        "{refused}"
    );
    let refused = client("http://x").reading_as("stranger").fetch(&server).unwrap_err();
    assert!(matches!(&refused, GraphqlError::NotFound(name) if name == "stranger"), "{refused}");
    assert!(client("http://x").fetch(&server).is_ok(), "who reads for himself may read all");
}

/// Spec 1.2 and 8.1, 1: a file that qontract-reconcile cannot read fails its whole query. Here its position is
/// reported, and the rest is read.
#[test]
fn errors_of_the_server_are_reported_with_their_file_and_the_rest_is_read() {
    let text = without_beyond(&fs::read_to_string(folder().join("bundle.json")).unwrap());
    let server =
        FakeQontractServer::new(&text.replace("\"strategy\":\"per-ocm-organization\"", "\"strategy\":\"per-moon\""));
    let bundle = client("http://x").reading_as("integrations-manager").fetch(&server).unwrap();
    let problems: Vec<String> = bundle.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].starts_with("/integrations/ocm-upgrade-scheduler-org.yml: the server reports: "),
        "{problems:?}"
    );
    let told = "managed[0].sharding: Abstract type \"IntegrationSharding_v1\" must resolve";
    assert!(problems[0].contains(told), "{problems:?}");
    assert_eq!(bundle.unread().next().unwrap().1, Some("/app-sre/integration-1.yml"));
    assert!(
        bundle.file("/integrations/quay-mirror.yml").is_some()
            && bundle.file("/integrations/ocm-upgrade-scheduler-org.yml").is_none()
    );
    assert_eq!(server.paused().len(), 4, "asked five times for all, and once for each");
}

/// Organizations can disable integrations if the server's types support it, as newer ones do.
#[test]
fn organizations_can_disable_integrations_if_the_server_supports_it() {
    let text = without_beyond(&fs::read_to_string(folder().join("bundle.json")).unwrap());
    let mut bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    let disabled = |bundle: &serde_json::Value| {
        let read = client("http://x").fetch(&FakeQontractServer::new(&bundle.to_string())).unwrap();
        read.file("/ocm/retail.yml").unwrap().value().get("disable").cloned()
    };
    bundle["data"]["/ocm/retail.yml"]["disable"] = serde_json::json!({"integrations": ["x"]});
    assert_eq!(disabled(&bundle), None, "its types do not have it");
    let confs = bundle["graphql"]["confs"].as_array_mut().unwrap();
    let disable = confs.iter().find_map(|conf| {
        let account = conf["name"] == "AWSAccount_v1";
        conf["fields"].as_array()?.iter().find(|field| account && field["name"] == "disable").cloned()
    });
    let query = confs.iter().find(|conf| conf["name"] == "Query").unwrap();
    let of_query =
        query["fields"].as_array().unwrap().iter().find(|field| field["name"] == "ocm_instances_v1").unwrap();
    let organization = of_query["type"].clone();
    let conf = confs.iter_mut().find(|conf| conf["name"] == organization).unwrap();
    conf["fields"].as_array_mut().unwrap().push(disable.unwrap());
    assert_eq!(disabled(&bundle), Some(serde_json::json!({"integrations": ["x"]})));
}
