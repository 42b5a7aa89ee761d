//! Tests that threads share a parsed set.

use std::sync::Arc;

use switchboard_template::{ExecutionOptions, Functions, TemplateSet, Value};

#[test]
fn threads_share_a_set() {
    let mut set = TemplateSet::new("t", Arc::new(Functions::new()));
    set.parse("t", "{{range $i, $e := .list}}{{template \"x\" $e}}{{end}}{{define \"x\"}}[{{.}}]{{end}}").unwrap();
    let set = Arc::new(set);
    let render = |number: i64| {
        let list = Value::list((0..number).map(Value::Int).collect());
        set.render("t", &Value::map([("list", list)]), &ExecutionOptions::default()).unwrap()
    };
    std::thread::scope(|scope| {
        for number in 0..8 {
            let render = &render;
            scope.spawn(move || {
                let expected: String = (0..number).map(|number| format!("[{number}]")).collect();
                for _ in 0..100 {
                    assert_eq!(render(number), expected.as_bytes());
                }
            });
        }
    });
}

#[test]
fn layers_hide_templates_below() {
    let mut below = TemplateSet::new("t", Arc::new(Functions::new()));
    below.parse("t", "{{template \"x\"}}{{template \"y\"}}{{define \"x\"}}1{{end}}{{define \"y\"}}2{{end}}").unwrap();
    let below = Arc::new(below);
    let mut above = TemplateSet::layer(&below);
    above.parse("z", "{{define \"x\"}}3{{end}}{{template \"t\"}}").unwrap();
    let above = Arc::new(above);
    assert_eq!(above.render("z", &Value::Nil, &ExecutionOptions::default()).unwrap(), b"32");
    assert_eq!(below.render("t", &Value::Nil, &ExecutionOptions::default()).unwrap(), b"12");
    let missing = below.render("z", &Value::Nil, &ExecutionOptions::default()).unwrap_err().to_string();
    assert_eq!(missing, "template: no template \"z\" associated with template \"t\"");
}
