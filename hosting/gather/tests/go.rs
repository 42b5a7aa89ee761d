//! Recorded results of library-go's `manifestclient` and of the JSONPath library of multi-operator-manager, in
//! `tests/go`.
//!
//! `read.jsonl` contains reads of the directories in `dirs`, `write.jsonl` requests and the resulting files, and
//! `jsonpath.jsonl` paths evaluated on one document. With the rules of multi-operator-manager, Switchboard gives the
//! same results. This file lists the differences with native rules.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard_gather::contract::{ContractRules, ResourceType};
use switchboard_gather::jsonpath::JsonPath;
use switchboard_gather::manifest_client::{ManifestClient, ManifestClientError};
use switchboard_gather::must_gather::{MustGather, MustGatherError, MustGatherQuery};
use switchboard_gather::mutation::{Layout, Naming, read_files};
use switchboard_gather::record::{MutationRequest, to_mutation};
use switchboard_object::selector::LabelSelector;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go").join(name)
}

fn cases(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(recorded(name)).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!cases.is_empty());
    cases
}

/// A parsed resource path of an API request. A Namespace has no namespace here.
#[derive(Debug)]
struct RecordedPath {
    of: ResourceType,
    namespace: String,
    name: String,
    subresource: String,
    query: Vec<(String, String)>,
}

fn parse_path(url: &str) -> RecordedPath {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let group = if parts.remove(0) == "apis" { parts.remove(0) } else { "" };
    let version = parts.remove(0);
    let mut namespace = "";
    if parts[0] == "namespaces" && parts.len() > 2 && parts[2] != "status" {
        namespace = parts[1];
        parts.drain(..2);
    }
    let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_string();
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_string(), decoded(value)));
    RecordedPath {
        of: ResourceType::new(group, version, parts[0]),
        namespace: namespace.into(),
        name: part(1),
        subresource: part(2),
        query: query.split('&').filter_map(pair).collect(),
    }
}

fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        out.push(char::from(u8::from_str_radix(&rest[at + 1..at + 3], 16).unwrap()));
        rest = &rest[at + 3..];
    }
    out + rest
}

fn labels(path: &RecordedPath) -> &str {
    path.query.iter().find(|(key, _)| key == "labelSelector").map_or("", |(_, value)| value)
}

#[test]
fn reads_match_library_go() {
    for case in cases("read.jsonl") {
        let from = ManifestClient::new(&recorded("dirs").join(case["dir"].as_str().unwrap()));
        let path = parse_path(case["url"].as_str().unwrap());
        let answer: Result<Option<Value>, ManifestClientError> = match path.name.as_str() {
            "" => from.list(&path.of, &path.namespace, labels(&path)).map(Some),
            name => from.get(&path.of, &path.namespace, name),
        };
        let status = match &answer {
            Ok(Some(_)) => 200,
            Ok(None) => 404,
            Err(_) => 500,
        };
        assert_eq!(status, case["status"], "{case}\n{answer:?}");
        if let Ok(Some(value)) = answer {
            assert_eq!(value, case["value"], "{case}");
        }
    }
}

/// Recorded reads with another native result: the listed names, or whether the object exists.
const NATIVE_DIFFERENCES: [(&str, &str, &[&str]); 23] = [
    ("plain", "/api/v1/namespaces/shop/secrets", &["a", "b", "c", "hidden"]),
    ("plain", "/api/v1/namespaces/shop/secrets?labelSelector=app%20notin%20(web)", &["a", "b", "c", "hidden"]),
    ("plain", "/api/v1/namespaces/shop/secrets?labelSelector=app%3Dweb", &[]),
    ("plain", "/api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Da", &["a", "b", "c", "hidden"]),
    ("plain", "/api/v1/namespaces/shop/secrets/hidden", &["hidden"]),
    ("plain", "/api/v1/secrets", &["a", "b", "c", "hidden"]),
    ("plain", "/api/v1/namespaces/shop/configmaps/y", &["y"]),
    ("plain", "/api/v1/configmaps", &["z", "x", "y"]),
    ("plain", "/api/v1/namespaces", &["elsewhere", "shop"]),
    ("plain", "/api/v1/namespaces?labelSelector=none%3Dx", &[]),
    ("plain", "/api/v1/namespaces/elsewhere", &["elsewhere"]),
    ("plain", "/apis/odd.io/v1/oxen", &["ox"]),
    ("generic", "/api/v1/namespaces/shop/secrets", &["a"]),
    ("generic", "/api/v1/namespaces/shop/secrets/a", &["a"]),
    ("generic", "/api/v1/secrets", &["a"]),
    ("stray", "/api/v1/secrets", &[]),
    ("stray", "/api/v1/namespaces/shop/secrets", &[]),
    ("stray", "/api/v1/namespaces/shop/configmaps", &[]),
    ("stray", "/api/v1/namespaces", &[]),
    ("broken", "/api/v1/namespaces/shop/secrets", &[]),
    ("broken", "/api/v1/namespaces/shop/secrets/a", &[]),
    ("broken", "/api/v1/namespaces/shop/configmaps", &[]),
    ("broken", "/api/v1/namespaces/shop/configmaps/x", &[]),
];

fn native(from: &MustGather, path: &RecordedPath) -> Result<Vec<Value>, MustGatherError> {
    if !path.name.is_empty() {
        return Ok(from.get(&path.of, &path.namespace, &path.name)?.cloned().into_iter().collect());
    }
    let labels = LabelSelector::parse(labels(path)).unwrap_or_else(|_| LabelSelector::everything());
    let query = MustGatherQuery { labels, ..MustGatherQuery::all(&path.namespace) };
    Ok(from.list(&path.of, &query)?.into_iter().cloned().collect())
}

#[test]
fn native_reads_differ_as_listed() {
    let bad_selector = "%3D%3D%3D";
    for case in cases("read.jsonl")
        .into_iter()
        .filter(|case| case["dir"] != "missing" && !case["url"].as_str().unwrap().contains(bad_selector))
    {
        let (dir, url) = (case["dir"].as_str().unwrap(), case["url"].as_str().unwrap());
        let from = MustGather::open(&recorded("dirs").join(dir)).unwrap();
        let path = parse_path(url);
        let answer = native(&from, &path);
        let otherwise = NATIVE_DIFFERENCES.iter().find(|(d, u, _)| (*d, *u) == (dir, url));
        if let Some((_, _, names)) = otherwise {
            let found = answer.unwrap();
            let found: Vec<&str> = found.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
            assert_eq!(&found, names, "{case}");
            continue;
        }
        match (case["status"].as_u64().unwrap(), answer) {
            (404, Ok(found)) => assert_eq!(found, [] as [Value; 0], "{case}"),
            (500, Err(_)) => {}
            (200, Ok(found)) if path.name.is_empty() => {
                assert_eq!(Value::Array(found), case["value"]["items"], "{case}")
            }
            (200, Ok(found)) => assert_eq!(found, [case["value"].clone()], "{case}"),
            (_, answer) => panic!("{case}\n{answer:?}"),
        }
    }
}

fn files(case: &Value, rules: ContractRules) -> (BTreeMap<String, String>, Vec<Option<String>>) {
    let mut layout = Layout::new(Naming { bare: true, rules, ..Naming::default() });
    let (mut files, mut refusals) = (BTreeMap::new(), Vec::new());
    for request in case["requests"].as_array().unwrap() {
        let text = |field: &str| request[field].as_str().unwrap_or_default();
        let path = parse_path(text("url"));
        let verb = match (text("method"), path.name.as_str()) {
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            (_, "") => "deletecollection",
            _ => "delete",
        };
        let request = MutationRequest {
            verb,
            of: path.of,
            kind: if rules == ContractRules::Native { "ConfigMap" } else { "" },
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &path.name,
            content_type: text("contentType"),
            query: &path.query,
            body: text("body").as_bytes(),
            controller: text("controller"),
        };
        match to_mutation(&request, rules) {
            Ok(mutation) => {
                let laid_out = layout.add(&mutation).files.into_iter();
                files.extend(laid_out.map(|(path, content)| (path, String::from_utf8(content).unwrap())));
                refusals.push(None);
            }
            Err(error) => refusals.push(Some(error.to_string())),
        }
    }
    (files, refusals)
}

#[test]
fn written_files_match_library_go() {
    for case in cases("write.jsonl") {
        let (files, refusals) = files(&case, ContractRules::MultiOperatorManager);
        let expected: BTreeMap<String, String> = serde_json::from_value(case["files"].clone()).unwrap();
        assert_eq!(files, expected, "{}", case["name"]);
        for (request, refusal) in case["requests"].as_array().unwrap().iter().zip(refusals) {
            // library-go records the request before it finds that discovery does not contain the resource.
            let recorded = request["refused"].as_str().filter(|words| !words.starts_with("did not find kind"));
            assert_eq!(refusal.as_deref(), recorded, "{}", case["name"]);
        }
    }
}

#[test]
fn native_files_extend_those_of_library_go() {
    for case in cases("write.jsonl").into_iter().filter(|case| case["name"] != "patch namespace") {
        let (files, _) = files(&case, ContractRules::Native);
        let expected: BTreeMap<String, String> = serde_json::from_value(case["files"].clone()).unwrap();
        let several = case["requests"].as_array().unwrap().len() > 1;
        for (path, text) in expected {
            assert!(files.contains_key(&path), "{}: {path}", case["name"]);
            // If library-go writes two mutations to one file, the first one keeps the name.
            assert!(several || files[&path] == text, "{}: {path}", case["name"]);
        }
        let bytes = files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
        assert_eq!(read_files(&bytes, None).problems, [], "{}", case["name"]);
    }
}

#[test]
fn path_results_match_multi_operator_manager() {
    let document: Value =
        serde_json::from_str(&fs::read_to_string(recorded("jsonpath-document.json")).unwrap()).unwrap();
    for case in cases("jsonpath.jsonl") {
        let text = case["path"].as_str().unwrap();
        let parsed = JsonPath::parse(text);
        // Single quotes delimit a text here, and a single character in Go.
        if text.contains("'web'") {
            assert!(parsed.is_ok() && case["unreadable"] == true);
            continue;
        }
        assert_eq!(parsed.is_err(), case["unreadable"] == true, "{case}");
        let Ok(path) = parsed else { continue };
        // Without the `$`, a missing key finds nothing in Go.
        if text == "spec.name" {
            assert!(case["value"].is_null() && path.find(&document).unwrap().is_empty());
            continue;
        }
        match path.find_compat(&document) {
            Err(error) => assert_eq!(error.to_string(), case["err"].as_str().unwrap_or_default(), "{case}"),
            // Go visits objects in random order.
            Ok(Value::Array(mut found)) if text.contains("..") || text.contains('*') => {
                let mut expected = case["value"].as_array().unwrap().clone();
                found.sort_by_key(Value::to_string);
                expected.sort_by_key(Value::to_string);
                assert_eq!(found, expected, "{case}");
            }
            Ok(found) => assert_eq!(found, case["value"], "{case}"),
        }
    }
}
