#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;

fn print(text: &str) -> String {
    LabelSelector::parse(text).unwrap().to_string()
}

fn error_of(text: &str) -> String {
    LabelSelector::parse(text).unwrap_err().to_string()
}

const KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[test]
fn the_grammar() {
    assert_eq!(print(""), "");
    assert_eq!(print("m<2,a,!b,c=d,e!=f,g in (i,h),j notin (k),l>1"), "a,!b,c=d,e!=f,g in (h,i),j notin (k),l>1,m<2");
    assert_eq!(print(" x = a , y == b "), "x=a,y==b");
    assert_eq!(print("x=,z= "), "x=,z=");
    assert_eq!(print("x in ()"), "x in ()");
    assert_eq!(print("x in (,a)"), "x in (,a)");
    assert_eq!(print("x in (a,)"), "x in (,a)");
    assert_eq!(print("x in (a,,b)"), "x in (,a,b)");
    assert_eq!(print("in,notin=in"), "in,notin=in");
    assert_eq!(print("!in"), "!in");
    assert_eq!(print("x in (in,notin)"), "x in (in,notin)");
}

#[test]
fn words_of_refusal() {
    assert_eq!(error_of("x,,y"), "found ',', expected: identifier after ','");
    assert_eq!(error_of("x,"), "found '', expected: identifier after ','");
    assert_eq!(error_of(",x"), "found ',', expected: !, identifier, or 'end of string'");
    assert_eq!(error_of("=a"), "found '=', expected: !, identifier, or 'end of string'");
    assert_eq!(error_of("x=a b"), "found 'b', expected: ',' or 'end of string'");
    assert_eq!(error_of("!x=a"), "found '=', expected: ',' or 'end of string'");
    assert_eq!(error_of("!"), "unable to parse requirement: found '', expected: identifier");
    assert_eq!(error_of("x y"), "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt");
    assert_eq!(error_of("x in a"), "unable to parse requirement: found 'a' expected: '('");
    assert_eq!(error_of("x in (a"), "unable to parse requirement: found '', expected: ',' or ')'");
    assert_eq!(error_of("x in (=)"), "unable to parse requirement: found '=', expected: ',', ')' or identifier");
    assert_eq!(error_of("x in (a,=)"), "unable to parse requirement: found '=', expected: ',', or identifier");
    assert_eq!(error_of("x=(a)"), "unable to parse requirement: found '(', expected: identifier");
    assert_eq!(
        error_of("*x=a"),
        format!("unable to parse requirement: <nil>: Invalid value: \"*x\": name part {KEY_WORDS}")
    );
    assert_eq!(
        error_of("x>a"),
        "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer"
    );
    assert!(error_of("x=a*").starts_with(
        "unable to parse requirement: values[0][x]: Invalid value: \"a*\": a valid label must be an empty string"
    ));
    assert!(error_of("x>a*").starts_with("unable to parse requirement: [values[0]: Invalid value: \"a*\": for 'Gt'"));
}

#[test]
fn matching() {
    let labels = json!({"app": "web", "n": "5", "empty": ""});
    let matches = |text: &str| LabelSelector::parse(text).unwrap().matches(labels.as_object());
    for yes in ["", "app", "app=web", "app in (web,db)", "app!=db", "x!=y", "!x", "x notin (a)", "n>4", "n<6", "empty="]
    {
        assert!(matches(yes), "{yes}");
    }
    for no in ["!app", "app=db", "x", "x=", "app notin (web)", "n>5", "n<5", "app>1", "app=web,x", "x in ()"] {
        assert!(!matches(no), "{no}");
    }
    assert!(LabelSelector::parse("!app").unwrap().matches(None));
}

#[test]
fn the_object_form() {
    assert!(!LabelSelector::from_object(None).unwrap().matches(None));
    assert!(LabelSelector::from_object(Some(&json!({}))).unwrap().is_everything());
    let object = json!({
        "matchLabels": {"b": "c"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    });
    let selector = LabelSelector::from_object(Some(&object)).unwrap();
    assert_eq!(selector.to_string(), "a in (x,y),b=c,!d");
    let refused = |expression| {
        LabelSelector::from_object(Some(&json!({"matchExpressions": [expression]}))).unwrap_err().to_string()
    };
    assert_eq!(refused(json!({"key": "a", "operator": "Gt"})), "\"Gt\" is not a valid label selector operator");
    assert_eq!(
        refused(json!({"key": "a", "operator": "In"})),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    );
    assert_eq!(
        refused(json!({"key": "a", "operator": "Exists", "values": ["x"]})),
        "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"
    );
}

#[test]
fn field_selectors() {
    let print = |text: &str| FieldSelector::parse(text).unwrap().to_string();
    assert_eq!(print(""), "");
    assert_eq!(print("b==c,a=b,,d!=e"), "a=b,b=c,d!=e");
    assert_eq!(print(r"a=x\,y\=\\z"), r"a=x\,y\=\\z");
    assert_eq!(FieldSelector::parse(r"a=x\,y").unwrap().exact("a"), Some("x,y"));
    let refused = |text: &str| FieldSelector::parse(text).unwrap_err().to_string();
    assert_eq!(refused("a=b,c"), "invalid selector: 'a=b,c'; can't understand 'c'");
    assert_eq!(refused("a=b=c"), "invalid field selector: unescaped character in value: 61");
    assert_eq!(refused(r"a=\b"), r"invalid field selector: invalid escape sequence: \b");
    assert_eq!(refused("a=\\"), r"invalid field selector: invalid escape sequence: \");
    let selector = FieldSelector::parse("metadata.name=web,status.phase!=Running").unwrap();
    let with =
        |phase: &'static str| move |field: &str| if field == "metadata.name" { "web".into() } else { phase.into() };
    assert!(selector.matches(with("")));
    assert!(!selector.matches(with("Running")));
}
