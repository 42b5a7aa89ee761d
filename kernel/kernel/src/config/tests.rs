#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::family::{OperatorFamily, PartOperator};
use crate::limits::Limits;
use crate::operator::Operator;
use crate::topology::NamespaceMapping;

/// Family with an operator of several instances, and with a section of one field.
struct TenantsFamily;

impl OperatorFamily for TenantsFamily {
    fn operators(&self) -> &[&'static str] {
        &["greeter", "flooder", "tenants"]
    }

    fn samples(&self) -> &[&'static str] {
        &["rogue"]
    }

    fn parts(&self) -> &[PartOperator] {
        &[
            PartOperator { name: "tenants@", parent: ParentSection::Operator("tenants") },
            PartOperator { name: "quotas@", parent: ParentSection::Section("quotas") },
        ]
    }

    fn section(&self) -> Option<SectionReader> {
        let read: fn(&mut Section<'_>, Option<&Path>, &mut ErrorCollector) -> _ =
            |section, _, findings| section.take("source", findings, value::text).map(SectionConfig::new);
        Some(SectionReader { name: "quotas", read })
    }

    fn operator(&self, _name: &str) -> Option<Arc<dyn Operator>> {
        None
    }
}

const FAMILIES: Families = Families(&[&TenantsFamily]);
const FILE: &str = "switchboard.yaml";

fn parse(text: &str) -> Result<Config, ConfigErrors> {
    Config::parse(FILE, text, FAMILIES)
}

fn problems(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// Reads `tests/cases/<name>.yaml` and compares the configuration or the errors with `<name>.out`. `UPDATE=1` rewrites
/// it.
#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests/cases");
    let mut failed = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let input = entry.unwrap().path();
        if input.extension().is_none_or(|e| e != "yaml") {
            continue;
        }
        seen += 1;
        let got = match parse(&fs::read_to_string(&input).unwrap()) {
            Ok(config) => {
                let warnings = config.warnings().into_iter().map(|w| format!("warning: {w}\n"));
                format!("{}{config:#?}\n", warnings.collect::<String>())
            }
            Err(errors) => format!("{errors}\n"),
        };
        let output = input.with_extension("out");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&output, &got).unwrap();
        } else if fs::read_to_string(&output).unwrap_or_default() != got {
            failed.push(format!("--- {}\n{got}", input.display()));
        }
    }
    assert!(seen > 10, "the cases were not found");
    assert!(failed.is_empty(), "{}\nhint: UPDATE=1 takes what is shown as right", failed.join("\n"));
}

#[test]
fn the_message_is_what_the_user_sees() {
    let text = "operators:\n  greeter:\n    debonce: 1s\n";
    let shown = "error: could not read switchboard.yaml
  switchboard.yaml:3:5: operators.greeter.debonce: unknown field
hint: did you mean `debounce`?";
    assert_eq!(problems(text), shown);
}

#[test]
fn an_empty_file_is_the_default() {
    for text in ["", "\n", "# nothing\n", "---\n", "{}", "\u{feff}", "operators:\nclusters: {}\nlimits:\n"] {
        assert_eq!(parse(text).unwrap(), Config { families: FAMILIES, ..Config::default() }, "{text:?}");
    }
}

#[test]
fn hints_are_bounded_and_printable() {
    let clusters: String = (0..1000).map(|i| format!("  \"c{i}\\e\\n\": {{}}\n")).collect();
    let text = format!("clusters:\n{clusters}topology: {{configuration: quite-another}}");
    let errors = Config::parse(FILE, &text, Families::default()).unwrap_err();
    assert_eq!(errors.errors.len(), MAX_ERRORS);
    let text = "clusters: {a: , \"b\\e\": }\ntopology: {configuration: quite-another}";
    let shown = problems(text);
    assert!(shown.contains(r#"valid names: a, "b\x1b""#), "{shown}");
    let many: Vec<String> = (0..30).map(|i| format!("operator-number-{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let shown = ConfigProblem::new("unknown operator").suggest("x", &many);
    let shown = format!("{shown:?}");
    assert!(shown.contains("operator-number-19, and 10 more"), "{shown}");
}

#[test]
fn every_field_arrives() {
    let config = parse(include_str!("tests/cases/full.yaml")).unwrap();
    let name = ClusterName::new;
    let hub = ClusterConfig { kubeconfig: Some("/etc/hub.kubeconfig".into()), context: Some("admin".into()) };
    assert_eq!(config.clusters[&name("hub")], hub);
    assert_eq!(config.clusters[&name("edge")], ClusterConfig { context: None, kubeconfig: Some("edge.yaml".into()) });
    let acme = NamespaceMapping::new("acme-", BTreeMap::new()).unwrap();
    let named = BTreeMap::from([("openshift-etcd".to_string(), "etcd-of-acme".to_string())]);
    let managed = NamespaceMapping::new("acme-", named).unwrap();
    let topology = Topology::of([name("hub"), name("hub"), name("edge")]);
    assert_eq!(config.topology, topology.with_namespaces([acme, managed, NamespaceMapping::identity()]).unwrap());
    let limits = GlobalLimits { max_concurrent: 8, requests_per_second: Some(25), process_memory_bytes: 2 << 30 };
    assert_eq!(config.limits, limits);
    assert_eq!(config.journal, JournalConfig { max_bytes: 64 << 20, max_age: Duration::from_secs(24 * 3600) });
    assert_eq!(config.listen, Some("127.0.0.1:9090".parse().unwrap()));
    let greeter = OperatorConfig {
        enabled: false,
        limits: LimitsConfig {
            debounce: Some(Duration::from_millis(500)),
            cool_down: Some(Duration::from_millis(1500)),
            writes_per_second: Some(5),
            writes_per_minute: Some(60),
            resync: Some(None),
            backoff_first: Some(Duration::from_secs(2)),
            backoff_max: Some(Duration::from_secs(60)),
            timeout: Some(Duration::from_secs(90)),
            max_concurrent: Some(2),
            memory_bytes: Some(256 << 20),
        },
        service_account: Some(ServiceAccount { namespace: "tools".into(), name: "greeter".into() }),
        settings: json!({"greeting": "hello", "names": ["a", 1, true, null], "deep": {"octal": 8}}),
        process: None,
    };
    assert_eq!(config.operators[&OperatorName::new("greeter")], greeter);
    assert_eq!(config.operators[&OperatorName::new("flooder")], OperatorConfig::default());
    assert_eq!(config.operators.len(), 2);
}

#[test]
fn a_program_is_an_operator_in_either_form() {
    let listed = parse(include_str!("tests/cases/process_list.yaml")).unwrap();
    let by_name = parse(include_str!("tests/cases/process.yaml")).unwrap();
    assert_eq!(listed, by_name);
    let process = by_name.operators[&OperatorName::new("auth")].process.clone().unwrap();
    assert_eq!(process.program, std::path::Path::new("bin/auth-operator"));
    assert_eq!(process.arguments, ["--v=2"]);
    assert!(process.live && process.sandbox);
    assert_eq!(by_name.operators[&OperatorName::new("auth")].limits().memory_bytes, 256 << 20);
    let dns = &by_name.operators[&OperatorName::new("dns")];
    assert_eq!((dns.limits().memory_bytes, dns.process.as_ref().unwrap().disk_bytes), (PROCESS_MEMORY_BYTES, 1 << 30));
}

#[test]
fn scalars_mean_what_they_mean_elsewhere() {
    let plain = "yes No on OFF y n true ~ null Null 0 -1 +1 010 0o10 0x1F 1_000 1e3 .5 -.5 1. 1:30 18446744073709551615
        --- ... -- + . a 1s 1Gi 2001-01-01 2001-01-01T00:00:00Z 1.2.3 never nan 0b1 -0 é yes! trueish 9223372036854775808";
    let quoted = ["'yes'", "\"1\"", "''", "a b", "1 2", "|-\n        1", ">-\n        yes", ""];
    for scalar in plain.split_whitespace().chain(quoted) {
        let text = format!("operators:\n  greeter:\n    settings:\n      value: {scalar}\n");
        let elsewhere = switchboard_object::yaml::read(&text).unwrap().value;
        let settings = parse(&text).unwrap().operators[&OperatorName::new("greeter")].settings.clone();
        assert_eq!(settings, elsewhere["operators"]["greeter"]["settings"], "{scalar}");
    }
}

#[test]
fn relative_paths_count_from_the_file() {
    let text = "clusters: {a: {kubeconfig: k/config}}";
    let at = |file| {
        Config::parse(file, text, Families::default()).unwrap().clusters[&ClusterName::new("a")].kubeconfig.clone()
    };
    assert_eq!(at("switchboard.yaml"), Some("k/config".into()));
    assert_eq!(at("/etc/sb/switchboard.yaml"), Some("/etc/sb/k/config".into()));
}

#[test]
fn durations_are_gos() {
    let millis = |text: &str| duration::parse(text).map(|d| d.as_nanos() as f64 / 1e6).ok();
    for (text, expected) in [
        ("200ms", 200.0),
        ("1.5s", 1500.0),
        ("10m", 600_000.0),
        ("168h", 604_800_000.0),
        ("1h30m", 5_400_000.0),
        (".5s", 500.0),
        ("5.s", 5000.0),
        ("+5s", 5000.0),
        ("100us", 0.1),
        ("100µs", 0.1),
        ("1ns", 0.000_001),
        ("0", 0.0),
        ("-0", 0.0),
        ("0.000000000000000000001h", 0.0),
    ] {
        assert_eq!(millis(text), Some(expected), "{text}");
    }
    for text in ["", "5", "s", ".s", "5 s", "1d", "1s2", "-1s", "--1s", "+-1s", "1S", "1e3s", "1..5s", "∞"] {
        assert_eq!(millis(text), None, "{text}");
    }
    let endless = format!("{}h", "9".repeat(1000));
    assert_eq!(duration::parse(&endless).unwrap().as_secs(), u64::MAX);
}

#[test]
fn durations_are_shown_as_they_are_read() {
    for text in ["0s", "200ms", "1.5s", "10m", "168h", "90s", "7us", "3ns"] {
        assert_eq!(duration::display(duration::parse(text).ok().unwrap()), text);
    }
}

#[test]
fn errors_are_bounded() {
    let text: String = (0..50).map(|i| format!("unknown{i}: 1\n")).collect();
    let errors = parse(&text).unwrap_err();
    assert_eq!((errors.errors.len(), errors.omitted), (MAX_ERRORS, 50 - MAX_ERRORS));
    assert!(errors.to_string().ends_with("\n  and 30 more"));
}

#[test]
fn size_and_depth_are_bounded() {
    assert!(problems(&"#".repeat(MAX_BYTES + 1)).contains("is longer than 1048576 bytes"));
    let nested =
        |depth: usize| format!("operators: {{greeter: {{settings: {}{}}}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(MAX_DEPTH - 3)).is_ok());
    assert!(problems(&nested(MAX_DEPTH - 2)).contains("nests deeper than 64 levels"));
    // The parser has a much higher limit of its own.
    assert!(parse(&nested(100_000)).is_err());
}

#[test]
fn many_keys_do_not_take_long() {
    let text: String = (0..60_000).map(|i| format!("      k{i}: v\n")).collect();
    let config = parse(&format!("operators:\n  greeter:\n    settings:\n{text}")).unwrap();
    let settings = &config.operators[&OperatorName::new("greeter")].settings;
    assert_eq!(settings.as_object().unwrap().len(), 60_000);
}

#[test]
fn typos_are_distinguished_from_other_words() {
    let known = ["debounce", "coolDown", "maxConcurrent", "memory", "resync"];
    let near = |word| report::nearest(word, &known);
    assert_eq!(near("debonce"), Some("debounce"));
    assert_eq!(near("debuonce"), Some("debounce"));
    assert_eq!(near("cooldown"), Some("coolDown"));
    assert_eq!(near("max_concurrent"), Some("maxConcurrent"));
    assert_eq!(near("max-concurrency"), Some("maxConcurrent"));
    assert_eq!(near("Memory"), Some("memory"));
    for other in ["", "x", "workers", "parallelism", "re", &"debounce".repeat(50)] {
        assert_eq!(near(other), None, "{other}");
    }
}

#[test]
fn settings_that_change_without_a_restart() {
    let old = parse("operators: {greeter: {}, flooder: {}}").unwrap();
    assert!(old.changes(&old).is_empty());
    let new = parse("limits: {maxConcurrent: 2}\noperators: {greeter: {debounce: 1s}, flooder: }").unwrap();
    let changes = old.changes(&new);
    assert_eq!(changes.global, Some(new.limits.clone()));
    assert!(changes.needs_restart.is_empty());
}

#[test]
fn limits_of_parts_are_set_for_the_parent_or_for_one() {
    let text = "operators:\n  tenants: {coolDown: 3s}\n  tenants@east: {coolDown: 4s, limits: {resync: never}}
quotas: {source: x, limits: {debounce: 5s, backoff: {first: 2s}}}\n";
    let config = parse(text).unwrap();
    assert_eq!(config.operators.len(), 1, "a part is hosted with the whole, and not by its entry");
    let own = Limits { backoff_max: Duration::from_secs(1), max_concurrent: 9, ..Limits::default() };
    let of = |name: &str, of| config.limits_of_part(&OperatorName::new(name), of, &own);
    let whole = ParentSection::Operator("tenants");
    let (east, west) = (of("tenants@east", whole), of("tenants@west", whole));
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
    assert_eq!((seconds(east.cool_down), seconds(west.cool_down)), (Some(4), Some(3)));
    assert_eq!((east.resync, west.resync, east.max_concurrent), (None, own.resync, 9));
    let quotas = of("quotas@east", ParentSection::Section("quotas"));
    assert_eq!((seconds(quotas.debounce), quotas.backoff_max.as_secs()), (Some(5), 2), "what is said counts");
    assert_eq!(config.section::<String>().map(String::as_str), Some("x"));
    let changed = parse(&text.replace("5s", "6s")).unwrap();
    assert!(config.changes(&changed).needs_restart.is_empty(), "{:?}", config.changes(&changed));
    let changed = parse(&text.replace("source: x", "source: z")).unwrap();
    assert_eq!(config.changes(&changed).needs_restart, ["`quotas` changed"]);
}

#[test]
fn a_part_without_its_parent_section_is_refused() {
    for (text, words) in [
        (
            "operators: {quotas@east: {}}",
            ":1:13: operators.\"quotas@east\": belongs to the section `quotas`, which is not in this file",
        ),
        ("operators: {tenants@east: {}}", "belongs to the operator `tenants`"),
        ("operators: {tenants: , tenants@east: {enabled: off}}", "\"tenants@east\".enabled: unknown field"),
        ("operators: {tenants: , tenants@: {}}", "unknown operator"),
        ("operators: {quotas: {}}", "hint: configure it in the section `quotas`, beside `operators`"),
    ] {
        let told = problems(text);
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn samples_are_known_and_not_recommended() {
    assert!(parse("operators: {rogue: {}}").is_ok());
    assert!(problems("operators: {roguee: {}}").ends_with("did you mean `rogue`?"));
    assert!(problems("operators: {zzzzzzzzz: {}}").ends_with("valid names: flooder, greeter, tenants"));
}

#[test]
fn settings_that_need_a_restart() {
    let old = parse("operators: {greeter: {settings: {password: a}}, flooder: {enabled: false}}").unwrap();
    let text = "clusters: {a: {}}\njournal: {maxAge: 1h}\nlisten: 127.0.0.1:0
operators: {greeter: {enabled: no, serviceAccount: a/b, settings: {password: hush}, timeout: 1s}, tenants: }";
    let changes = old.changes(&parse(text).unwrap());
    let sentences = [
        "`clusters` changed",
        "`topology` changed",
        "`journal` changed",
        "`listen` changed",
        "operator `greeter` is no longer enabled",
        "`serviceAccount` of operator `greeter` changed",
        "`settings` of operator `greeter` changed",
        "operator `tenants` is new",
        "operator `flooder` was removed",
    ];
    assert_eq!(changes.needs_restart, sentences);
    assert!(!changes.is_empty());
}

/// Generates text that is often almost valid.
fn nearly() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "operators",
        "greeter",
        "debounce",
        "backoff",
        "first",
        "max",
        "limits",
        "memory",
        "processMemory",
        "listen",
        "clusters",
        "default",
        "kubeconfig",
        "topology",
        "management",
        "settings",
        "resync",
        "journal",
        "maxBytes",
        "maxAge",
        "serviceAccount",
        "enabled",
        "maxConcurrent",
        "<<",
        "? a",
        "\"",
        "'",
        "!!str x",
        "~",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "1s",
            "-1s",
            "0",
            "1Gi",
            "1e999999999",
            "-1e-99999",
            "9223372036854775808",
            "*a",
            "&a b",
            "[",
            "{",
            "]",
            "}",
            "|",
            ">",
            "never",
            "off",
            "a/b",
            "---",
            "...",
            "127.0.0.1:1",
            "0x1p",
            "1_0",
            ".",
            "-",
            "'",
            "!!binary x",
            "2001-01-01",
            ".inf",
            ".nan",
        ])
        .prop_map(str::to_string),
        "\\PC{0,6}",
        "[-+]?[0-9.]{1,30}[a-zA-Zµ]{0,3}",
    ];
    let line =
        (0usize..6, key, value).prop_map(|(indent, key, value)| format!("{}{key}: {value}", "  ".repeat(indent)));
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

/// Generates a file with one field set to a value from far below to far above its bounds.
fn one_field() -> impl Strategy<Value = String> {
    let field = prop::sample::select(vec![
        "limits: {maxConcurrent: V}",
        "limits: {requestsPerSecond: V}",
        "limits: {processMemory: V}",
        "journal: {maxBytes: V}",
        "journal: {maxAge: V}",
        "operators: {greeter: {debounce: V}}",
        "operators: {greeter: {coolDown: V}}",
        "operators: {greeter: {writesPerSecond: V}}",
        "operators: {greeter: {writesPerMinute: V}}",
        "operators: {greeter: {resync: V}}",
        "operators: {greeter: {backoff: {first: V}}}",
        "operators: {greeter: {backoff: {max: V}}}",
        "operators: {greeter: {timeout: V}}",
        "operators: {greeter: {maxConcurrent: V}}",
        "operators: {greeter: {memory: V}}",
    ]);
    let unit =
        prop::sample::select(vec!["", "", "ns", "ms", "s", "m", "h", "Ki", "Mi", "Gi", "Ti", "Ei", "k", "e9", ".5s"]);
    let number = prop_oneof![-2i64..5, 0i64..5000, any::<i64>()];
    (field, number, unit).prop_map(|(field, number, unit)| field.replace('V', &format!("{number}{unit}")))
}

/// Whether a configuration is within the bounds of `docs/reference/configuration.md`.
fn within_bounds(config: &Config) -> bool {
    let (milli, second, hour) = (Duration::from_millis(1), Duration::from_secs(1), Duration::from_secs(3600));
    let fits = |l: &Limits| {
        l.debounce.is_none_or(|debounce| debounce <= hour)
            && l.cool_down.is_none_or(|cool_down| cool_down <= 24 * hour)
            && l.writes_per_second.is_none_or(|writes| (1..=10_000).contains(&writes))
            && l.writes_per_minute.is_none_or(|writes| (1..=600_000).contains(&writes))
            && l.resync.is_none_or(|r| (second..=720 * hour).contains(&r))
            && milli <= l.backoff_first
            && l.backoff_first <= l.backoff_max
            && l.backoff_max <= 24 * hour
            && (milli..=hour).contains(&l.timeout)
            && (1..=1024).contains(&l.max_concurrent)
            && l.memory_bytes <= 1 << 40
    };
    let global = &config.limits;
    ClusterType::ALL.iter().all(|cluster_type| config.clusters.contains_key(config.topology.cluster(*cluster_type)))
        && (1..=1024).contains(&global.max_concurrent)
        && global.requests_per_second.is_none_or(|requests| (1..=100_000).contains(&requests))
        && (1 << 20..=16 << 40).contains(&global.process_memory_bytes)
        && (1 << 20..=1 << 40).contains(&config.journal.max_bytes)
        && (60 * second..=87_600 * hour).contains(&config.journal.max_age)
        && config.operators.values().all(|o| fits(&o.limits()))
}

proptest! {
    #[test]
    fn guarantees_no_text_panics(text in prop_oneof!["\\PC{0,200}", "(?s).{0,200}", nearly(), one_field()]) {
        // A carriage return ends a line too.
        let lines = text.matches(['\n', '\r']).count() + 2;
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.errors.is_empty());
            let shown = errors.to_string();
            prop_assert!(shown.starts_with("error: could not read switchboard.yaml\n  switchboard.yaml:"));
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
            for error in &errors.errors {
                prop_assert!(error.line >= 1 && error.column >= 1 && error.line <= lines, "{error:?} of {lines}");
            }
        }
    }

    #[test]
    fn guarantees_values_are_within_bounds(text in prop_oneof![3 => one_field(), 1 => nearly()]) {
        if let Ok(config) = parse(&text) {
            prop_assert!(within_bounds(&config), "{config:?}");
        }
    }
}
