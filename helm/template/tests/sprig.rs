//! Comparison of every sprig function with results of the real Go packages.
//!
//! `tests/sprig/cases.json` contains templates with Go's output, quoted as `%q`, or the text of its error. `sprig` is
//! `v2` for cases of sprig 2.22.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "real")]
#[path = "sprig/random.rs"]
mod random;
#[cfg(feature = "real")]
#[path = "sprig/real.rs"]
mod real;

use std::sync::Arc;

use switchboard_template::sprig::{Resolver, SprigVersion, SystemInputs};
use switchboard_template::{ExecutionOptions, Function, Functions, ReflectType, Signature, TemplateSet, Value, sprig};

const CASES: &str = include_str!("sprig/cases.json");

/// Returns the data of all cases, which equals that of the Go program that recorded them.
fn data() -> Value {
    let nested = Value::map([
        ("a", Value::Int(1)),
        ("b", Value::map([("c", "d".into())])),
        ("n", Value::Nil),
        ("l", Value::list(vec![Value::Int(1), Value::Int(2)])),
    ]);
    let list = vec!["b".into(), "a".into(), Value::Int(3), Value::Nil, "a".into()];
    let ints = [3, 1, 2].map(Value::Int).to_vec();
    let deep = vec![Value::list(vec![Value::Int(1)]), Value::map([("z", "<&>".into())])];
    Value::map([
        ("nil", Value::Nil),
        ("str", "text".into()),
        ("empty", "".into()),
        ("int", Value::Int(7)),
        ("neg", Value::Int(-3)),
        ("float", Value::Float64(2.5)),
        ("yes", Value::Bool(true)),
        ("no", Value::Bool(false)),
        ("list", Value::list(list)),
        ("none", Value::list(Vec::new())),
        ("strs", Value::strings(["x", "y", ""])),
        ("ints", Value::typed_list(ReflectType::INTS, ints)),
        ("map", nested),
        ("strmap", Value::typed_map(ReflectType::STRING_MAP, [("k".into(), "v".into())].into())),
        ("nomap", Value::map(Vec::<(&str, Value)>::new())),
        ("bytes", Value::Bytes(b"raw\xff".as_slice().into())),
        ("bad", Value::string(b"a\xffb")),
        ("i64", Value::Int64(90)),
        ("u8", Value::Uint8(200)),
        ("f32", Value::Float32(1.5)),
        ("big", Value::Float64(1e21)),
        ("nested", Value::list(deep)),
    ])
}

/// Returns sprig's functions and Helm's two TOML functions.
fn functions(sprig: SprigVersion) -> Arc<Functions> {
    const TO: &Signature = &Signature::new(&[ReflectType::ANY], ReflectType::STRING);
    const FROM: &Signature = &Signature::new(&[ReflectType::STRING], ReflectType::MAP);
    let mut functions = sprig.functions();
    let write = |_: &mut switchboard_template::Execution<'_>, args: &[Value]| {
        // In Go, a nil panics, which becomes an error. Everything else returns text.
        match sprig::toml::write(&args[0]) {
            Err(error) if error.starts_with("reflect:") => Err(switchboard_template::Error::call(error)),
            written => Ok(Value::string(written.unwrap_or_else(String::into_bytes))),
        }
    };
    functions.insert("toToml", Function::new(TO, write));
    functions.insert(
        "fromToml",
        Function::new(FROM, |_, args| {
            let text = args[0].as_str().unwrap();
            Ok(sprig::toml::read(text).unwrap_or_else(|error| Value::map([("Error", error.into())])))
        }),
    );
    Arc::new(functions)
}

/// A network without hosts.
struct EmptyResolver;

impl Resolver for EmptyResolver {
    fn addresses(&self, _host: &str) -> Vec<String> {
        Vec::new()
    }
}

fn system_inputs() -> SystemInputs {
    let now = "2026-11-16T04:00:00Z".parse().unwrap();
    SystemInputs {
        environment: Some(Default::default()),
        resolver: Some(Arc::new(EmptyResolver)),
        ..SystemInputs::fixed(now, b"seed")
    }
}

/// Returns the output quoted as `%q`, or the error.
fn render(functions: &Arc<Functions>, template: &str, inputs: Option<&SystemInputs>) -> Result<String, String> {
    let hosts: Vec<&dyn std::any::Any> = inputs.map(|inputs| inputs as &dyn std::any::Any).into_iter().collect();
    let options = ExecutionOptions { hosts: &hosts, ..ExecutionOptions::default() };
    let mut set = TemplateSet::new("t", Arc::clone(functions));
    set.parse("t", template).map_err(|error| error.to_string())?;
    let out = Arc::new(set).render("t", &data(), &options).map_err(|error| error.to_string())?;
    Ok(switchboard_object::quote::quote_bytes(&out))
}

#[test]
fn functions_match_go() {
    let cases: Vec<serde_json::Value> = serde_json::from_str(CASES).unwrap();
    let (v2, v3, world) = (functions(SprigVersion::V2), functions(SprigVersion::V3), system_inputs());
    let mut wrong = Vec::new();
    for case in &cases {
        let template = case["tmpl"].as_str().unwrap();
        let functions = if case["sprig"] == "v2" { &v2 } else { &v3 };
        let expected = match case["err"].as_str() {
            Some(error) => Err(error.to_string()),
            None => Ok(case["out"].as_str().unwrap().to_string()),
        };
        let found = render(functions, template, Some(&world));
        if found != expected {
            wrong.push(format!("{template}\n   go: {expected:?}\n ours: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{} of {} cases differ", wrong.join("\n"), wrong.len(), cases.len());
}

/// A function whose system input is missing fails with an error.
#[test]
fn missing_system_inputs_are_errors() {
    let functions = functions(SprigVersion::V3);
    let refused = |template: &str| render(&functions, template, None).unwrap_err();
    assert!(refused("{{ now }}").contains("no clock"));
    assert!(refused("{{ date \"2006\" .nil }}").contains("no clock"));
    for call in ["randAlpha 3", "uuidv4", "shuffle \"abc\"", "genPrivateKey \"ecdsa\"", "bcrypt \"x\"", "randInt 1 9"] {
        assert!(refused(&format!("{{{{ {call} }}}}")).contains("no randomness"), "{call}");
    }
    assert!(refused("{{ env \"HOME\" }}").contains("no environment"));
    assert!(refused("{{ getHostByName \"localhost\" }}").contains("no network"));
    assert_eq!(render(&functions, "{{ date \"2006\" 0 }}", None).unwrap(), "\"1970\"");
}

#[test]
fn the_same_seed_gives_the_same_output() {
    let functions = functions(SprigVersion::V3);
    let template = "{{ randAlphaNum 20 }} {{ uuidv4 }} {{ shuffle \"abcdefgh\" }} {{ randInt 0 1000000 }} {{ now }}";
    let first = render(&functions, template, Some(&system_inputs())).unwrap();
    assert_eq!(first, render(&functions, template, Some(&system_inputs())).unwrap());
    let other = SystemInputs::fixed("2026-11-16T04:00:00Z".parse().unwrap(), b"another");
    assert_ne!(first, render(&functions, template, Some(&other)).unwrap());
}

/// Numbers from a template do not control memory use.
#[test]
fn hostile_numbers_are_rejected() {
    let functions = functions(SprigVersion::V3);
    let calls = [
        "until 9223372036854775807",
        "untilStep 0 9223372036854775807 1",
        "seq 1 9223372036854775806",
        "repeat 9223372036854775807 \"x\"",
        "repeat 4611686018427387904 \"xxxx\"",
        "indent 9223372036854775807 \"x\"",
        "nindent 999999999999 \"a\\nb\"",
        "randAlpha 9223372036854775807",
        "randBytes 9223372036854775807",
        "mulf 1e308 1e308 | int | repeat -1",
    ];
    for call in calls {
        let outcome = render(&functions, &format!("{{{{ {call} }}}}"), Some(&system_inputs()));
        assert!(outcome.is_err(), "{call}: {outcome:?}");
    }
}

/// Every function of both versions exists, and none that the version does not have.
#[test]
fn function_names_match_the_version() {
    let names = |sprig: SprigVersion| sprig.functions().names().len();
    assert_eq!((names(SprigVersion::V2), names(SprigVersion::V3)), (V2_FUNCTIONS, V3_FUNCTIONS));
}

const V2_FUNCTIONS: usize = 150;
const V3_FUNCTIONS: usize = 211;
