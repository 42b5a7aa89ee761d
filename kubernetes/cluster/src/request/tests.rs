#![allow(clippy::unwrap_used)]

use http::{HeaderMap, Method};

use super::list::ListOptions;
use super::media::{MetaVersion, ObjectForm, ResponseFormat};
use super::query::UrlQuery;
use super::write::{PatchKind, WriteOptions};
use super::*;

fn info(method: Method, url: &str) -> RequestInfo {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    RequestInfo::parse(&method, path, &UrlQuery::parse(query).unwrap()).unwrap()
}

#[test]
fn resource_paths_are_read_as_upstream_reads_them() {
    let cases = [
        (Method::GET, "/api/v1/namespaces", "list  v1 namespaces   "),
        (Method::GET, "/api/v1/namespaces/shop", "get  v1 namespaces shop shop "),
        (Method::PUT, "/api/v1/namespaces/shop/finalize", "update  v1 namespaces shop shop finalize"),
        (Method::GET, "/api/v1/namespaces/shop/pods", "list  v1 pods shop  "),
        (Method::GET, "/api/v1/pods?watch=1", "watch  v1 pods   "),
        (Method::GET, "/api/v1/watch/pods", "watch  v1 pods   "),
        (Method::DELETE, "/apis/apps/v1/namespaces/shop/deployments", "deletecollection apps v1 deployments shop  "),
        (
            Method::PATCH,
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            "patch apps v1 deployments shop web scale",
        ),
        (Method::POST, "/api/v1/namespaces/a%2Fb/pods", "create  v1 b a pods "),
    ];
    for (method, url, expected) in cases {
        let i = info(method, url);
        let got =
            format!("{} {} {} {} {} {} {}", i.verb, i.group, i.version, i.resource, i.namespace, i.name, i.subresource);
        assert_eq!(got, expected, "{url}");
        assert!(i.is_resource);
    }
}

#[test]
fn other_paths_are_not_resources() {
    for url in ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/openapi/v3"] {
        assert!(!info(Method::GET, url).is_resource, "{url}");
    }
    let blue = info(Method::GET, "/clusters/blue/healthz");
    assert_eq!((blue.cluster.as_str(), blue.path.as_str()), ("blue", "/healthz"));
    assert_eq!(info(Method::GET, "/clusters/blue").path, "/");
}

#[test]
fn long_paths_and_queries_are_refused() {
    let long = "/".repeat(MAX_PATH_BYTES + 1);
    assert_eq!(RequestInfo::parse(&Method::GET, &long, &UrlQuery::default()).unwrap_err().code, 414);
    assert_eq!(UrlQuery::parse(&"a".repeat(MAX_QUERY_BYTES + 1)).unwrap_err().code, 414);
    assert_eq!(UrlQuery::parse(&"a&".repeat(100)).unwrap_err().code, 400);
    assert!(RequestInfo::parse(&Method::GET, "/api/%zz", &UrlQuery::default()).is_err());
}

#[test]
fn list_options_are_checked_in_upstreams_words() {
    let check = |query: &str| ListOptions::parse(&UrlQuery::parse(query).unwrap()).unwrap_err().message;
    assert_eq!(
        check("resourceVersionMatch=Exact"),
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
         resourceVersionMatch is forbidden unless resourceVersion is provided"
    );
    assert_eq!(
        check("sendInitialEvents=true"),
        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"
    );
    assert_eq!(check("limit=x"), "strconv.ParseInt: parsing \"x\": invalid syntax");
    let legacy = ListOptions::parse(&UrlQuery::parse("watch=true").unwrap()).unwrap();
    assert_eq!(legacy.send_initial_events, Some(true));
}

#[test]
fn write_options_are_checked_in_upstreams_words() {
    let create = |query: &str| WriteOptions::create(&UrlQuery::parse(query).unwrap()).unwrap_err().message;
    assert_eq!(
        create("dryRun=Some"),
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
    );
    let apply = WriteOptions::patch(&UrlQuery::default(), PatchKind::Apply).unwrap_err().message;
    assert_eq!(
        apply,
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
    assert_eq!(WriteOptions::default().manager("kubectl/v1.36 (linux)"), "kubectl");
}

#[test]
fn the_first_acceptable_clause_wins() {
    let accept = |text: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("accept", text.parse().unwrap());
        ResponseFormat::negotiate(&headers)
    };
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    assert_eq!(accept(table).unwrap().form, ObjectForm::Table(MetaVersion::V1));
    assert_eq!(accept("application/vnd.kubernetes.protobuf,application/json").unwrap(), ResponseFormat::default());
    assert_eq!(accept("application/vnd.kubernetes.protobuf").unwrap_err().code, 406);
}
