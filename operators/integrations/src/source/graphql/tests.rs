#![allow(clippy::unwrap_used)]

use std::cell::RefCell;

use super::*;

/// Transport with prepared responses that records its requests.
#[derive(Default)]
struct ScriptedTransport {
    answers: RefCell<Vec<Result<(u16, &'static str), String>>>,
    asked: RefCell<Vec<ServerRequest>>,
    paused: RefCell<Vec<u64>>,
}

impl ScriptedTransport {
    fn new(answers: impl IntoIterator<Item = Result<(u16, &'static str), String>>) -> Self {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Self { answers: RefCell::new(answers), ..Self::default() }
    }
}

impl Transport for ScriptedTransport {
    fn call(&self, ask: &ServerRequest) -> Result<(u16, Vec<u8>), String> {
        self.asked.borrow_mut().push(ask.clone());
        let answer = self.answers.borrow_mut().pop().unwrap_or_else(|| Err("no server".to_string()));
        answer.map(|(status, body)| (status, body.as_bytes().to_vec()))
    }

    fn pause(&self, duration: Duration) {
        self.paused.borrow_mut().push(duration.as_secs());
    }
}

fn server() -> QontractServer {
    QontractServer::new("https://data.example.com:8443/graphql?x=1").unwrap()
}

#[test]
fn the_path_of_a_server_address_is_ignored() {
    let script = ScriptedTransport::new([Ok((200, "abc\n"))]);
    assert_eq!(server().sha(&script).unwrap(), "abc");
    assert_eq!(script.asked.borrow()[0].url, "https://data.example.com:8443/sha256");
    for wrong in ["", "data.example.com", "ftp://a/b", "http://"] {
        assert!(matches!(QontractServer::new(wrong), Err(GraphqlError::Address(_))), "{wrong}");
    }
    let refused = QontractServer::new("https://user:canary@host/graphql").unwrap_err();
    assert!(matches!(refused, GraphqlError::Login) && !refused.to_string().contains("canary"), "{refused}");
}

/// Spec 1.2: five attempts for any failure, with delays of 1, 2, 3 and 4 seconds.
#[test]
fn a_request_is_attempted_five_times_with_growing_delays() {
    let failures = || [Err("refused".to_string()), Ok((500, "oops")), Ok((200, "not a sha!")), Ok((404, ""))];
    let script = ScriptedTransport::new(failures().into_iter().chain([Ok((200, "abc"))]));
    assert_eq!(server().sha(&script).unwrap(), "abc");
    assert_eq!(*script.paused.borrow(), [1, 2, 3, 4]);
    let script = ScriptedTransport::new(failures().into_iter().chain([Ok((503, "No loaded data."))]));
    let error = server().sha(&script).unwrap_err();
    assert_eq!(error.to_string(), "could not request the SHA of its bundle from https://data.example.com:8443/sha256");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the server answered 503: No loaded data.");
    assert_eq!(script.asked.borrow().len(), 5);
}

#[test]
fn any_error_of_a_server_fails_the_whole_answer() {
    let partial =
        r#"{"data":{"integrations":[]},"errors":[{"message":"no","path":["a",0,"b"]},{"message":"neither"}]}"#;
    let script = ScriptedTransport::new(
        [Ok((200, "abc")), Ok((200, "{}"))].into_iter().chain((0..5).map(|_| Ok((200, partial)))),
    );
    let error = server().fetch(&script).unwrap_err();
    assert_eq!(error.to_string(), "could not request settings from https://data.example.com:8443/graphqlsha/abc");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the server reports: a[0].b: no; neither");
}

/// A missing list is an error: an empty one would delete all workloads of the files.
#[test]
fn a_response_without_a_list_is_an_error() {
    for wrong in [r#"{"data":{"files":null}}"#, r#"{"data":{}}"#, r#"{"data":{"files":{}}}"#] {
        let script = ScriptedTransport::new(
            [Ok((200, "abc")), Ok((200, "{}"))].into_iter().chain((0..5).map(|_| Ok((200, wrong)))),
        );
        let error = server().fetch(&script).unwrap_err();
        assert_eq!(error.to_string(), "could not request settings from https://data.example.com:8443/graphqlsha/abc");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("`files` is not a list"), "{source}");
    }
    let mut files = files::ServerFiles::default();
    files.clusters(serde_json::json!({"files": [null, {"path": "/c.yml", "name": "c"}]}));
    let bundle = files.finish("sha");
    assert_eq!((bundle.files().count(), bundle.problems().len()), (1, 1));
}

#[test]
fn the_token_is_sent_and_never_shown() {
    let script = ScriptedTransport::default();
    let server = server().authorized(Some(AuthorizationHeader::new("Basic hunter2")));
    let error = server.fetch(&script).unwrap_err();
    assert_eq!(script.asked.borrow()[0].authorization.as_ref().unwrap().reveal(), "Basic hunter2");
    let shown = format!("{server:?} {error:?} {error} {:?}", script.asked.borrow());
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn answers_become_datafiles_with_references_and_without_nulls() {
    let mut files = files::ServerFiles::default();
    files.integrations(serde_json::json!({"files": [{
        "path": "/i.yml", "name": "i", "upstream": null,
        "managed": [{
            "namespace": {"path": "/ns.yml", "name": "ns",
                "environment": {"name": "e", "parameters": "{\"A\": null, \"B\": 1}"},
                "cluster": {"name": "c", "labels": null, "serverUrl": "u", "automationToken": {"path": "p", "field": "f", "version": null}}},
            "spec": {"cache": null, "extraEnv": [{"name": "x", "value": "y", "secretName": null}], "imageRef": ""},
            "sharding": {"strategy": "per-aws-account", "shardSpecOverrides": [{"shard": {"path": "/a.yml"}, "disabled": null}]},
        }],
    }]}));
    let bundle = files.finish("sha");
    assert_eq!(bundle.problems(), []);
    let by_path = |path: &str| bundle.file(path).unwrap().value();
    assert_eq!(
        *by_path("/i.yml"),
        serde_json::json!({"$schema": "/app-sre/integration-1.yml", "name": "i", "managed": [{
            "namespace": {"$ref": "/ns.yml"},
            "spec": {"extraEnv": [{"name": "x", "value": "y"}], "imageRef": ""},
            "sharding": {"strategy": "per-aws-account", "shardSpecOverrides": [{"shard": {"$ref": "/a.yml"}}]},
        }]})
    );
    assert_eq!(
        *by_path("/ns.yml"),
        serde_json::json!({"$schema": "/openshift/lean-namespace-1.yml", "name": "ns",
            "environment": {"name": "e", "parameters": {"A": null, "B": 1}},
            "cluster": {"name": "c", "serverUrl": "u", "automationToken": {"path": "p", "field": "f"}}})
    );
}
