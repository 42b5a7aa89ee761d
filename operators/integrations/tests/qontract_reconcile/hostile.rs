//! Invalid and malicious data: errors are clear, parsing terminates, and valid parts work.

use std::fmt::Write as _;

use serde_json::{Value, json};
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::{DesiredBuilder, DesiredObjects};
use switchboard_integrations::lint::lint;
use switchboard_integrations::meta::IntegrationMeta;
use switchboard_integrations::settings::RenderSettings;
use switchboard_integrations::source::{Bundle, bundle, directory, graphql};

use crate::server::FakeQontractServer;

const NAMESPACE: &str =
    "{$schema: /openshift/lean-namespace-1.yml, name: ns, cluster: {name: c, serverUrl: u}, environment: {name: e}}";
const RESOURCES: &str = "resources: {requests: {cpu: 100m, memory: 1Mi}, limits: {memory: 2Mi}}";

fn integration(name: &str, element: &str) -> String {
    format!(
        "$schema: /app-sre/integration-1.yml\nlabels: {{}}\nname: {name}\ndescription: d\nschemas: []\nmanaged:\n- {element}\n"
    )
}

fn good(name: &str) -> String {
    integration(name, &format!("{{namespace: {{$ref: /ns.yml}}, spec: {{{RESOURCES}}}}}"))
}

fn build(bundle: &Bundle) -> DesiredObjects {
    DesiredBuilder::new(IntegrationsChart::builtin(), RenderSettings::default()).build(bundle)
}

fn names(desired: &DesiredObjects) -> Vec<String> {
    desired.namespaces.values().flat_map(|target| target.objects()).map(|object| object.name.clone()).collect()
}

/// Returns a bundle of files, read like a directory.
fn files<const N: usize>(files: [(&str, &str); N]) -> Bundle {
    directory::from_files(files.map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())))
}

/// Asserts that a valid file works beside an invalid one, which is reported with its line.
#[track_caller]
fn check(bad: &str, expected: &str) {
    let good = good("good");
    let bundle = files([("ns.yml", NAMESPACE), ("good.yml", &good), ("bad.yml", bad)]);
    let desired = build(&bundle);
    assert!(names(&desired).contains(&"qontract-reconcile-good".to_string()), "{bad}");
    let problems: Vec<String> = desired.problems().iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.starts_with(expected)), "{bad}\n{problems:?}");
    assert!(!lint(&bundle, &IntegrationMeta::default()).is_empty(), "{bad}");
}

#[test]
fn an_invalid_file_disables_only_itself() {
    let element = |text: &str| integration("bad", text);
    let spec = |spec: &str, rest: &str| element(&format!("{{namespace: {{$ref: /ns.yml}}, spec: {{{spec}}}{rest}}}"));
    check("", "/bad.yml:1: ");
    check("[", "/bad.yml:");
    check("just a text", "/bad.yml:1: ");
    check("a: 1\n---\nb: 2\n", "/bad.yml:");
    check("$schema: /app-sre/integration-1.yml\n", "/bad.yml:");
    check("$schema: [/app-sre/integration-1.yml]\nname: x\n", "/bad.yml:");
    check("$schema: /app-sre/integration-1.yml\nname: {a: b}\n", "/bad.yml:2: name: must be a text");
    check("$schema: /app-sre/integration-1.yml\nname: bad\nmanaged: {a: b}\n", "/bad.yml:3: managed: must be a list");
    check(&element("3"), "/bad.yml:7: managed[0]: ");
    check(&element("{namespace: {$ref: /gone.yml}}"), "/bad.yml:7: managed[0].namespace: refers to /gone.yml");
    check(&element("{namespace: {$ref: /bad.yml}}"), "/bad.yml:");
    check(&element("{namespace: {$ref: /good.yml}}"), "/good.yml:");
    check(&spec("", ""), "/bad.yml:7: managed[0].spec: has no `resources`");
    check(
        &spec("resources: {requests: {cpu: 1, memory: 1}}", ""),
        "/bad.yml:7: managed[0].spec.resources: has no `limits`",
    );
    check(&spec(&format!("{RESOURCES}, cache: 'yes'"), ""), "/bad.yml:7: managed[0].spec.cache: must be true or false");
    check(&spec(&format!("{RESOURCES}, extraEnv: {{}}"), ""), "/bad.yml:7: managed[0].spec.extraEnv: must be a list");
    for (sharding, expected) in [
        ("{}", "managed[0].sharding: has no `strategy`"),
        ("{strategy: static}", "managed[0].sharding: has no `shards`"),
        ("{strategy: static, shards: many}", "managed[0].sharding.shards: must be a whole number"),
        ("{strategy: static, shards: 0}", "managed[0]: is divided into 0 shards"),
        ("{strategy: static, shards: 999999999}", "managed[0]: is divided into 999999999 shards; at most"),
        ("{strategy: static, shards: 1e99}", "managed[0].sharding.shards: must be a whole number"),
        ("{strategy: per-moon}", "managed[0].sharding.strategy: unknown strategy `per-moon`"),
        ("{strategy: per-aws-account}", "managed[0]: integration bad does not support"),
        ("{strategy: per-object}", "managed[0].sharding: has no `schema`"),
        (
            "{strategy: static, shards: 2, shardSpecOverrides: [{shard: '7'}]}",
            "managed[0].sharding.shardSpecOverrides[0]: unknown shard `7`",
        ),
        (
            "{strategy: static, shards: 2, shardSpecOverrides: [{imageRef: x}]}",
            "managed[0].sharding.shardSpecOverrides[0]: selects no shard",
        ),
    ] {
        let text = spec(RESOURCES, &format!(", sharding: {sharding}"));
        let text = if sharding.contains("per-aws") { text.replace("name: bad", "name: aws-ami-share") } else { text };
        let expected = expected.replace("integration bad", "integration aws-ami-share");
        check(&text, &format!("/bad.yml:7: {expected}"));
    }
}

#[test]
fn colliding_names_disable_only_each_other() {
    let (a, b, good) = (good("same"), good("same"), good("good"));
    let bundle = Bundle::from_texts([("/ns.yml", NAMESPACE), ("/a.yml", &a), ("/b.yml", &b), ("/good.yml", &good)]);
    let desired = build(&bundle);
    assert!(names(&desired).contains(&"qontract-reconcile-good".to_string()));
    assert!(!desired.problems().is_empty());
}

#[test]
fn invalid_object_names_disable_only_themselves() {
    for name in ["UPPER", "with space", "-", "a/b", "ä", "x: y", "\"quoted\"", "'{{ .Values }}'", "a\\nb"] {
        check(&good(&format!("{name:?}")), "/bad.yml:");
    }
}

/// User-defined texts pass through a template and YAML without a change of their type.
#[test]
fn user_texts_keep_their_type() {
    let texts = [
        "true",
        "5",
        "a: b",
        "#x",
        "*x",
        "&x",
        "!!x",
        "- y",
        "{{ .Values }}",
        "{{",
        "}}",
        "'",
        "\"",
        "1e3",
        "0x1f",
        "~",
        "null",
        "${",
        "%",
        "@",
        "`",
        "\\",
        "|",
        ">",
        "? x",
        "2024-01-01",
        "1:30",
        "yes",
        " lead",
        "trail ",
        "ä€😀",
        "a\tb",
        "<<",
    ];
    let mut env = String::new();
    for (index, text) in texts.iter().enumerate() {
        let _ = write!(env, "{{name: V{index}, value: {}}}, ", serde_json::to_string(text).unwrap());
    }
    let text = integration(
        "texts",
        &format!(
            "{{namespace: {{$ref: /ns.yml}}, spec: {{{RESOURCES}, extraEnv: [{env}], extraArgs: \"--x '\\\" \\\\ : #\"}}}}"
        ),
    );
    let desired = build(&Bundle::from_texts([("/ns.yml", NAMESPACE), ("/texts.yml", &text)]));
    assert_eq!(desired.problems(), []);
    let target = desired.namespaces.values().next().unwrap();
    let made =
        target.objects()[0].body.pointer("/spec/template/spec/containers/0/env").unwrap().as_array().unwrap().clone();
    for (index, text) in texts.iter().enumerate() {
        let found = made.iter().find(|env| env["name"] == format!("V{index}")).unwrap();
        assert_eq!(found["value"], *text);
    }
    let args = made.iter().find(|env| env["name"] == "INTEGRATION_EXTRA_ARGS").unwrap();
    assert_eq!(args["value"], "--x '\" \\ : #");
}

#[test]
fn expanding_yaml_is_rejected() {
    let mut bomb = String::from("$schema: /app-sre/integration-1.yml\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        let _ = writeln!(bomb, "a{level}: &a{level} [{}]", vec![before; 10].join(","));
    }
    check(&bomb, "/bad.yml:");
    check(
        &format!("$schema: /app-sre/integration-1.yml\nname: {}1{}\n", "[".repeat(5000), "]".repeat(5000)),
        "/bad.yml:",
    );
    check("$schema: /app-sre/integration-1.yml\nname: !!python/object/apply:os.system ['true']\n", "/bad.yml:");
    check("$schema: /app-sre/integration-1.yml\nname: &a [*a]\n", "/bad.yml:");
}

/// Tests every prefix of a valid file, and the file with each character replaced: parsing terminates, and the other
/// file works.
#[test]
fn truncated_or_damaged_files_do_not_affect_others() {
    let whole = integration(
        "bad",
        &format!(
            "{{namespace: {{$ref: /ns.yml}}, spec: {{{RESOURCES}, logs: {{slack: true}}}}, sharding: {{strategy: static, shards: 2}}}}"
        ),
    );
    let good = good("good");
    let letters = ['\0', '{', '}', '[', ':', '-', '*', '&', '\n', '"', '\'', '😀'];
    let mut texts: Vec<String> = (0..whole.len()).step_by(3).map(|end| whole[..end].to_string()).collect();
    for (index, _) in whole.char_indices().step_by(5) {
        let letter = letters[index % letters.len()];
        texts.push(format!("{}{letter}{}", &whole[..index], &whole[index + 1..]));
    }
    let mut builder = DesiredBuilder::new(IntegrationsChart::builtin(), RenderSettings::default());
    for text in texts {
        let bundle = files([("ns.yml", NAMESPACE), ("good.yml", &good), ("bad.yml", &text)]);
        let desired = builder.build(&bundle);
        assert!(names(&desired).contains(&"qontract-reconcile-good".to_string()), "{text}");
        lint(&bundle, &IntegrationMeta::default());
    }
}

#[test]
fn a_bundle_of_a_hundred_megabytes_is_read() {
    let filler = "x".repeat(5000);
    let mut text = String::from("{\"data\":{");
    for number in 0..20_000 {
        let _ = write!(
            text,
            "\"/f{number}.yml\":{{\"$schema\":\"/other-1.yml\",\"name\":\"{number}\",\"text\":\"{filler}\"}},"
        );
    }
    let namespace = directory::from_files([("ns.yml".to_string(), NAMESPACE.as_bytes().to_vec())]);
    let namespace = namespace.file("/ns.yml").unwrap().value().to_string();
    let good = Bundle::from_texts([("/good.yml", good("good").as_str())]);
    let good = good.file("/good.yml").unwrap().value().to_string();
    let _ = write!(text, "\"/good.yml\":{good},\"/ns.yml\":{namespace}}},\"git_commit\":\"c\"}}");
    assert!(text.len() > 100_000_000);
    let read = bundle::parse("large", text.as_bytes()).unwrap();
    assert_eq!(read.files().count(), 20_002);
    assert_eq!(names(&build(&read)), ["qontract-reconcile-good", "qontract-reconcile"]);
}

#[test]
fn an_invalid_response_is_an_error_and_no_panic() {
    let nonsense = [
        "",
        "null",
        "[]",
        "{}",
        "{\"data\":null}",
        "{\"data\":[]}",
        "{\"errors\":3}",
        "<html>",
        "\u{0}",
        "{\"data\":{\"files\":3}}",
    ];
    for answer in nonsense {
        let server = FakeQontractServer::new("{\"data\":{}}");
        let client = graphql::QontractServer::new("http://x").unwrap();
        server.add_faults(std::iter::once((200, "abc")).chain(std::iter::repeat_n((200, answer), 40)));
        match client.fetch(&server) {
            Ok(bundle) => assert_eq!(bundle.files().count(), 0, "{answer}"),
            Err(error) => assert!(error.to_string().starts_with("could not request "), "{answer}: {error}"),
        }
    }
}

/// Returns valid files, in which any value can be replaced, removed or renamed.
fn valid_files() -> Vec<(&'static str, Value)> {
    vec![
        (
            "/bad.yml",
            json!({"$schema": "/app-sre/integration-1.yml", "name": "openshift-resources", "upstream": "u", "managed": [
                {"namespace": {"$ref": "/bad-ns.yml"},
                 "spec": {"resources": {"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"memory": "1Mi"}},
                          "extraEnv": [{"name": "A", "value": "b"}, {"secretName": "s", "secretKey": "k"}],
                          "logs": {"slack": true}, "cache": true, "storage": "1Gi", "extraArgs": "--x"},
                 "sharding": {"strategy": "per-openshift-cluster", "shardSpecOverrides": [
                    {"shard": {"$ref": "/cluster.yml"}, "imageRef": "x", "disabled": true,
                     "subSharding": {"strategy": "static", "shards": 2}}]}},
                {"namespace": {"$ref": "/lean.yml"},
                 "spec": {"cron": "0 * * * *", "resources": {"requests": {"cpu": "1", "memory": "1"}, "limits": {"memory": "1"}}},
                 "sharding": {"strategy": "static", "shardsFrom": {"schema": "/x-1.yml", "objectsPerShard": 2}}}]}),
        ),
        (
            "/bad-ns.yml",
            json!({"$schema": "/openshift/namespace-1.yml", "name": "bad", "cluster": {"$ref": "/cluster.yml"},
                "environment": {"$ref": "/env.yml"}}),
        ),
        (
            "/lean.yml",
            json!({"$schema": "/openshift/lean-namespace-1.yml", "name": "lean", "cluster": {"name": "d", "serverUrl": "u"},
                "environment": {"name": "e", "parameters": {"A": "b"}}}),
        ),
        (
            "/cluster.yml",
            json!({"$schema": "/openshift/cluster-1.yml", "name": "one", "serverUrl": "u", "disable": {"integrations": ["x"]},
                "automationToken": {"path": "p", "field": "f"}}),
        ),
        ("/env.yml", json!({"$schema": "/app-sre/environment-1.yml", "name": "e", "parameters": {"IMAGE_TAG": "x"}})),
        ("/x.yml", json!({"$schema": "/x-1.yml", "name": "x"})),
    ]
}

/// Reproducible pseudorandom numbers.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

fn odd(random: &mut SeededRandom) -> Value {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e300),
        json!(i64::MAX),
        json!(""),
        json!("a"),
        json!("-"),
        json!("/bad.yml"),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!({"$ref": "/bad.yml"}),
        json!({"$ref": "/gone.yml"}),
        json!({"$ref": 3}),
        json!({"$ref": "/x.yml", "more": 1}),
        json!([{"$ref": "/x.yml"}]),
        json!("{{ .Values }}"),
        json!("a\nb: c"),
        json!("static"),
        json!("per-object"),
        json!("x".repeat(300)),
        json!({"a": {"b": {"c": {"d": []}}}}),
    ];
    odd[random.below(odd.len())].clone()
}

/// Changes one value: the one at which `left` reaches zero.
fn change(value: &mut Value, left: &mut usize, random: &mut SeededRandom) {
    if *left == 0 {
        *left = usize::MAX;
        match (random.below(4), &mut *value) {
            (0, Value::Object(map)) if !map.is_empty() => {
                let key = map.keys().nth(random.below(map.len())).unwrap().clone();
                let removed = map.remove(&key).unwrap();
                if random.below(2) == 0 {
                    map.insert(format!("{key}s"), removed);
                }
            }
            (1, Value::Array(list)) if !list.is_empty() => list.push(list[0].clone()),
            _ => *value = odd(random),
        }
        return;
    }
    *left -= 1;
    let below: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => Vec::new(),
    };
    for one in below {
        if *left != usize::MAX {
            change(one, left, random);
        }
    }
}

/// Arbitrary values in other files cause no panic, and independent parts still work.
#[test]
fn arbitrary_values_do_not_affect_independent_files() {
    let mut random = SeededRandom(0x5eed);
    let mut builder = DesiredBuilder::new(IntegrationsChart::builtin(), RenderSettings::default());
    let mut compat = RenderSettings::default();
    compat.scope.compat = true;
    let mut compat = DesiredBuilder::new(IntegrationsChart::builtin(), compat);
    let good = good("good");
    for round in 0..150 {
        let mut files = valid_files();
        for _ in 0..=random.below(3) {
            let (at, mut place) = (random.below(files.len()), random.below(40));
            change(&mut files[at].1, &mut place, &mut random);
        }
        let texts: Vec<(&str, String)> = files.iter().map(|(path, value)| (*path, value.to_string())).collect();
        let texts = texts.iter().map(|(path, text)| (*path, text.as_str()));
        let bundle = Bundle::from_texts(texts.chain([("/ns.yml", NAMESPACE), ("/good.yml", good.as_str())]));
        let desired = builder.build(&bundle);
        assert!(names(&desired).contains(&"qontract-reconcile-good".to_string()), "{round}: {files:?}");
        lint(&bundle, &IntegrationMeta::default());
        compat.build(&bundle);
    }
}
