#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn owner(apparatus: Value) -> Value {
    json!({
        "apiVersion": "integration.rock8s.com/v1beta1",
        "kind": "Socket",
        "metadata": {"name": "db", "namespace": "data", "uid": "u-1"},
        "spec": {"serviceAccountName": "keeper", "apparatus": apparatus},
    })
}

fn with_pod() -> Value {
    owner(json!({
        "endpoint": "/socket",
        "idleTimeout": 40,
        "containers": [{"name": "api", "image": "apparatus:1", "ports": [{"containerPort": 3000, "name": "container"}]}],
    }))
}

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn seconds(count: i64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_secs(count)
}

fn url_of(apparatus: Value) -> Result<String, EndpointError> {
    let owner = owner(apparatus);
    let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
    base_url(&apparatus, &names(&apparatus, None), None)
}

#[test]
fn endpoints_lead_where_they_say() {
    let containers = json!([{"name": "api", "image": "x", "ports": [{"containerPort": 80}]}]);
    let beside = |endpoint: &str| url_of(json!({"endpoint": endpoint, "containers": containers})).unwrap();
    let own = "http://db-apparatus.data.svc.cluster.local";
    assert_eq!(beside(""), own);
    assert_eq!(beside("/socket"), format!("{own}/socket"));
    assert_eq!(beside("/socket/"), format!("{own}/socket"), "a slash at the end takes nothing else with it");
    assert_eq!(beside("socket"), format!("{own}/socket"), "a word beside a pod is a path");
    let alone = |endpoint: &str| url_of(json!({"endpoint": endpoint, "containers": []})).unwrap();
    assert_eq!(alone(""), "http://localhost");
    assert_eq!(alone("/socket"), "http://localhost/socket");
    assert_eq!(alone("abcdefg"), "http://abcdefg", "seven characters are as good as any");
    assert_eq!(alone("keycloak:3000/socket/"), "http://keycloak:3000/socket");
    assert_eq!(alone("https://example.com/a/"), "https://example.com/a");
}

#[test]
fn an_endpoint_that_cannot_be_asked_is_named() {
    assert_eq!(url_of(json!({"endpoint": "ftp://x"})), Err(EndpointError::Scheme("ftp".to_string())));
    assert_eq!(url_of(json!({"endpoint": "http:///x"})), Err(EndpointError::NoHost("http:///x".to_string())));
    assert_eq!(url_of(json!({"endpoint": "http://a b"})), Err(EndpointError::NoUrl("http://a b".to_string())));
}

#[test]
fn a_local_process_is_reached_where_it_listens() {
    let owner = with_pod();
    let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
    let pod = json!({"metadata": {"annotations": {ADDRESS_ANNOTATION: "127.0.0.1:4711"}}});
    assert_eq!(base_url(&apparatus, &names(&apparatus, None), Some(&pod)).unwrap(), "http://127.0.0.1:4711/socket");
}

#[test]
fn what_is_shown_of_a_url_holds_no_secret() {
    assert_eq!(display_url("https://me:hunter2@example.com:8443/a/b?token=x"), "https://example.com:8443/a/b");
    assert_eq!(display_url("http://example.com"), "http://example.com");
}

#[test]
fn answers_of_config_are_texts() {
    let texts = |body: &str| config_answer("http://x/config", body.as_bytes());
    let answer = texts(
        r#"{"n": 1000000, "f": 1e6, "big": 1e21, "half": 0.5, "no": null, "o": {"b": 1, "a": [true]}, "t": "x", "y": true}"#,
    );
    let wanted = [
        ("n", "1000000"),
        ("f", "1000000"),
        ("big", "1000000000000000000000"),
        ("half", "0.5"),
        ("o", r#"{"a":[true],"b":1}"#),
        ("t", "x"),
        ("y", "true"),
    ];
    let wanted: BTreeMap<String, String> = wanted.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    assert_eq!(answer.unwrap(), wanted);
    assert_eq!(texts("null").unwrap(), BTreeMap::new());
    for (body, found) in [("[]", "a list"), ("", "empty"), ("7", "a single value"), ("{", "no JSON")] {
        let message =
            format!("config failed: the answer of POST http://x/config must be a JSON object, and is {found}");
        assert_eq!(texts(body).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_refusal_is_said_in_the_words_scripts_know() {
    let said =
        |answer: CallAnswer| answer.check("event coupled", "http://x/coupled", CALL_TIMEOUT).unwrap_err().to_string();
    assert_eq!(said(CallAnswer::Status(500)), "event coupled failed with 500 status from POST http://x/coupled");
    assert_eq!(said(CallAnswer::TimedOut), "event coupled failed: no answer from POST http://x/coupled within 10 s");
    assert!(CallAnswer::Status(399).check("config", "http://x/config", CALL_TIMEOUT).is_ok());
}

#[test]
fn bodies_are_those_of_the_contract() {
    let (plug, socket) = (json!({"kind": "Plug"}), json!({"kind": "Socket"}));
    let map = |key: &str| BTreeMap::from([(key.to_string(), "1".to_string())]);
    assert_eq!(
        config_body(&plug, &socket, &map("p"), &map("s"), None),
        json!({"version": 1, "plug": plug, "socket": socket, "plugData": {"p": "1"}, "socketData": {"s": "1"}})
    );
    assert_eq!(config_body(&plug, &socket, &map("p"), &map("s"), Some(&map("v")))["vars"], json!({"v": "1"}));
    assert_eq!(event_body(CouplingSide::Plug, &plug, None), json!({"version": "1", "plug": plug}));
    assert_eq!(
        event_body(CouplingSide::Socket, &socket, Some((&plug, &map("a"), &map("b")))),
        json!({"version": "1", "plug": plug, "socket": socket, "plugConfig": {"a": "1"}, "socketConfig": {"b": "1"}})
    );
}

#[test]
fn the_number_of_a_question_is_that_of_its_content() {
    let body = |plug: Value, data: &str| {
        config_body(&plug, &json!({}), &BTreeMap::from([("k".to_string(), data.to_string())]), &BTreeMap::new(), None)
    };
    let plug = |revision: &str, spec: &str| json!({"metadata": {"name": "web", "resourceVersion": revision, "managedFields": [revision]}, "spec": spec, "status": revision});
    let one = config_key("http://x", &body(plug("1", "a"), "d"));
    assert_eq!(one, config_key("http://x", &body(plug("2", "a"), "d")), "what servers write is no content");
    assert_ne!(one, config_key("http://x", &body(plug("1", "b"), "d")));
    assert_ne!(one, config_key("http://x", &body(plug("1", "a"), "e")));
    assert_ne!(one, config_key("http://y", &body(plug("1", "a"), "d")));
}

#[test]
fn a_whole_pod_template_is_taken() {
    let owner = owner(json!({
        "containers": [{"name": "api", "image": "x", "ports": [{"containerPort": 8080}]}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "imagePullSecrets": [{"name": "pull"}],
        "serviceAccountName": "another-account",
        "metadata": {"labels": {"team": "a", "apparatus": "forged"}},
    }));
    let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
    let names = names(&apparatus, None);
    let pod = pod(&apparatus, &names, "2026-01-01T00:00:00Z").unwrap();
    assert_eq!(pod["spec"]["volumes"], json!([{"name": "v", "emptyDir": {}}]));
    assert_eq!(pod["spec"]["imagePullSecrets"], json!([{"name": "pull"}]));
    assert_eq!(pod["spec"]["serviceAccountName"], "keeper", "an apparatus acts as its owner's account");
    assert_eq!(pod["spec"].get("affinity"), None, "the pod requests no node that the spec does not name");
    assert_eq!(pod["metadata"]["labels"], json!({"team": "a", "apparatus": "db-apparatus"}));
    assert_eq!(pod["metadata"]["annotations"]["sidecar.istio.io/inject"], "false");
    assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "u-1");
    assert_eq!(service(&apparatus, &names).unwrap()["spec"]["ports"][0]["targetPort"], 8080);
}

#[test]
fn a_pod_that_nobody_could_reach_is_refused() {
    let owner = owner(json!({"containers": [{"name": "a", "image": "x"}]}));
    let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
    assert_eq!(service(&apparatus, &names(&apparatus, None)), Err(PodError::NoPort));
    assert!(PodError::NoPort.to_string().contains("spec.apparatus.containers"));
}

#[test]
fn names_are_those_of_services_and_belong_to_one_owner() {
    let named = |name: &str, service: Option<Value>| {
        let mut owner = with_pod();
        owner["metadata"]["name"] = name.into();
        let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
        names(&apparatus, service.as_ref()).name
    };
    assert_eq!(named("db", None), "db-apparatus");
    let of = |uid: &str| json!({"metadata": {"ownerReferences": [{"uid": uid}]}});
    assert_eq!(named("db", Some(of("u-1"))), "db-apparatus");
    assert_eq!(named("db", Some(of("u-2"))), "db-socket-apparatus", "a Plug of that name was first");
    let dotted = named("db.example.com", None);
    assert!(dotted.starts_with("db-example-com-") && dotted.ends_with("-apparatus"), "{dotted}");
    assert_ne!(dotted, named("db.example-com", None));
    let long = named(&"x".repeat(200), None);
    assert!(long.len() <= 63, "{long}");
    assert!(named("1st", None).starts_with("a-1st"), "a service begins with a letter");
}

fn running(owner: &Value, fields: Value) -> Value {
    let apparatus = Apparatus::of(CouplingSide::Socket, owner).unwrap();
    let mut pod = pod(&apparatus, &names(&apparatus, None), "2026-01-01T12:00:30Z").unwrap();
    pod["metadata"]["creationTimestamp"] = "2026-01-01T11:59:00Z".into();
    pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T11:59:00Z"});
    for (pointer, value) in fields.as_object().unwrap() {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        pod.pointer_mut(parent).unwrap()[field] = value.clone();
    }
    pod
}

fn next(owner: &Value, pod: Option<&Value>, needed: bool, at: Timestamp) -> PodStep {
    decide(&Apparatus::of(CouplingSide::Socket, owner).unwrap(), pod, needed, at)
}

#[test]
fn a_pod_is_started_when_it_is_needed_and_not_before() {
    let owner = with_pod();
    assert_eq!(next(&owner, None, false, now()), PodStep::Absent);
    assert_eq!(next(&owner, None, true, now()), PodStep::Start);
    let pod = running(&owner, json!({}));
    assert_eq!(next(&owner, Some(&pod), true, now()), PodStep::Ping);
    let pod = running(&owner, json!({"/status/phase": "Pending"}));
    let until = "2026-01-01T12:04:00Z".parse().unwrap();
    assert_eq!(next(&owner, Some(&pod), true, now()), PodStep::Wait { until, why: "the pod is Pending".to_string() });
}

#[test]
fn a_pod_is_stopped_at_the_deadline_it_carries() {
    let owner = with_pod();
    let pod = running(&owner, json!({}));
    let until: Timestamp = "2026-01-01T12:00:30Z".parse().unwrap();
    assert_eq!(next(&owner, Some(&pod), false, now()), PodStep::Idle { until });
    assert_eq!(next(&owner, Some(&pod), false, until), PodStep::Stop);
    assert_eq!(next(&owner, Some(&pod), true, until), PodStep::Ping, "who calls it renews it");
    // Without a written deadline, the creation time counts.
    let bare = running(
        &owner,
        json!({"/metadata/annotations": {SPEC_HASH_ANNOTATION: spec_hash(&Apparatus::of(CouplingSide::Socket, &owner).unwrap())}}),
    );
    assert_eq!(next(&owner, Some(&bare), false, now()), PodStep::Stop);
}

#[test]
fn a_call_keeps_a_pod_for_its_whole_idle_time_without_writing_each_time() {
    let owner = with_pod();
    let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
    let mut pod = running(&owner, json!({}));
    let written = renewed_deadline(&apparatus, &pod, now()).unwrap();
    assert_eq!(written, now() + seconds(80));
    pod["metadata"]["annotations"][IDLE_ANNOTATION] = written.to_string().into();
    assert_eq!(renewed_deadline(&apparatus, &pod, now() + seconds(40)), None);
    assert!(renewed_deadline(&apparatus, &pod, now() + seconds(41)).is_some());
}

#[test]
fn a_pod_of_another_spec_is_replaced_or_stopped() {
    let mut owner = with_pod();
    let pod = running(&owner, json!({}));
    owner["spec"]["apparatus"]["containers"][0]["image"] = "apparatus:2".into();
    assert_eq!(next(&owner, Some(&pod), true, now()), PodStep::Replace { why: "its spec has changed".to_string() });
    assert_eq!(next(&owner, Some(&pod), false, now()), PodStep::Stop);
    // A change that does not concern the pod leaves it alone.
    let mut owner = with_pod();
    owner["spec"]["apparatus"]["endpoint"] = "/other".into();
    owner["spec"]["apparatus"]["idleTimeout"] = 10.into();
    assert_eq!(next(&owner, Some(&pod), true, now()), PodStep::Ping);
}

#[test]
fn a_pod_that_failed_is_replaced_and_says_why() {
    let owner = with_pod();
    let pod = running(&owner, json!({"/status/phase": "Failed", "/status/message": "The node was low on memory"}));
    let why = "the pod is Failed: The node was low on memory".to_string();
    assert_eq!(next(&owner, Some(&pod), true, now()), PodStep::Replace { why });
    let young = json!({"/status/phase": "Failed", "/metadata/creationTimestamp": "2026-01-01T11:59:58Z"});
    let until = "2026-01-01T12:00:08Z".parse().unwrap();
    let why = "the pod is Failed: it ended".to_string();
    let step = next(&owner, Some(&running(&owner, young)), true, now());
    assert_eq!(step, PodStep::Wait { until, why }, "one that ends at once is not started without a pause");
    let pod = running(&owner, json!({"/metadata/deletionTimestamp": "2026-01-01T12:00:00Z"}));
    assert!(matches!(next(&owner, Some(&pod), true, now()), PodStep::Wait { .. }));
}

#[test]
fn the_end_of_a_program_is_told_until_another_answers() {
    let ended = "the apparatus to be replaced: the pod is Failed: exit status: 3";
    let starts = with_last_end("the apparatus to start: the pod is Pending".to_string(), ended);
    assert!(starts.ends_with("; previous run: the pod is Failed: exit status: 3"), "{starts}");
    assert_eq!(with_last_end("the apparatus to start".to_string(), &starts).matches("exit status").count(), 1);
    assert_eq!(with_last_end(ended.to_string(), &starts), ended);
    assert_eq!(with_last_end("the apparatus to start".to_string(), ""), "the apparatus to start");
}

#[test]
fn a_pod_that_does_not_come_up_is_replaced_after_its_time() {
    let owner = with_pod();
    let status =
        json!({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]});
    let pod = running(&owner, json!({"/status": status}));
    let late = now() + seconds(240);
    assert_eq!(
        next(&owner, Some(&pod), true, late),
        PodStep::Replace { why: "it did not start within 300 s: ImagePullBackOff".to_string() }
    );
    let apparatus = Apparatus::of(CouplingSide::Socket, &owner).unwrap();
    let pod = running(&owner, json!({}));
    let refused = CallAnswer::NotRunning("connection refused".to_string());
    assert!(matches!(step_after_failed_ping(&apparatus, &pod, &refused, now()), PodStep::Wait { .. }));
    assert!(matches!(step_after_failed_ping(&apparatus, &pod, &refused, late), PodStep::Replace { .. }));
    let slow = step_after_failed_ping(&apparatus, &pod, &CallAnswer::TimedOut, late);
    assert!(matches!(slow, PodStep::Wait { .. }), "what listens is not ended: {slow:?}");
}

#[test]
fn a_hanging_apparatus_costs_its_timeout_and_no_more() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let call = ApparatusCall { timeout: Duration::from_millis(50), ..ApparatusCall::ping(&url) };
    assert_eq!(super::call::sent(&call).0, CallAnswer::TimedOut);
    drop(listener);
    assert!(matches!(super::call::sent(&call).0, CallAnswer::NotRunning(_)));
}

/// The client closes the connection after every answer.
#[test]
fn no_connection_outlives_its_call() {
    use std::io::{Read, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        (read, stream.read(&mut request))
    });
    assert_eq!(
        super::call::sent(&ApparatusCall::post(&url, "coupled", json!({}), CALL_TIMEOUT)).0,
        CallAnswer::Status(500)
    );
    let (read, rest) = serving.join().unwrap();
    assert!(read > 0);
    assert!(matches!(rest, Ok(0)), "the connection is still there: {rest:?}");
}

/// The client sends no data to a server with an untrusted certificate.
#[test]
fn a_certificate_that_nobody_trusts_ends_a_call() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let listener = std::net::TcpListener::bind("localhost:0").unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let serving = std::thread::spawn(move || {
        use std::io::Read;

        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(config.into()).unwrap();
        let mut heard = Vec::new();
        // The read ends with an error: the client does not continue.
        let ended = rustls::Stream::new(&mut connection, &mut stream).read_to_end(&mut heard);
        (ended.is_err(), heard)
    });
    let secret = json!({"plugConfig": {"password": "hunter2"}});
    let (answer, said) = super::call::sent(&ApparatusCall::post(&url, "coupled", secret, Duration::from_secs(60)));
    assert!(matches!(&answer, CallAnswer::Broken(why) if why.contains("certificate")), "{answer:?}");
    assert_eq!((said, serving.join().unwrap()), (None, (true, Vec::new())));
}

/// Retries of an event have the same mark; another event, side or pair has another mark.
#[test]
fn an_event_has_one_mark_however_often_it_is_told() {
    let mark = |side, plug, socket, event, number| event_mark(side, plug, socket, event, number);
    let one = mark(CouplingSide::Plug, "p", "s", "coupled", 7);
    assert_eq!(one, mark(CouplingSide::Plug, "p", "s", "coupled", 7));
    let others = [
        mark(CouplingSide::Socket, "p", "s", "coupled", 7),
        mark(CouplingSide::Plug, "ps", "", "coupled", 7),
        mark(CouplingSide::Plug, "p", "s", "updated", 7),
        mark(CouplingSide::Plug, "p", "s", "coupled", 8),
    ];
    assert!(others.iter().all(|other| *other != one));
}
