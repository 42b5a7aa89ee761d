use serde_json::json;

use super::*;
use crate::overview::tests::sample;

#[test]
fn graphviz_is_told_of_namespaces_states_and_who_is_missing() {
    let dot = dot(&sample());
    assert!(dot.starts_with("digraph plugs {\n"));
    assert!(dot.contains("label=\"shop\";"));
    assert!(dot.contains(r#""plug shop/web" -> "socket data/db" [style=solid];"#), "{dot}");
    assert!(dot.contains(r#""plug shop/api" -> "socket data/db" [style=dashed];"#), "{dot}");
    assert!(
        dot.contains(r#""socket data/queue" [shape=ellipse, style=dashed, label="data/queue\nmissing"];"#),
        "{dot}"
    );
}

#[test]
fn names_cannot_leave_their_quotes() {
    let overview = PlugOverview::of(&[json!({"metadata": {"name": "a\"];evil", "namespace": "<n>"}})], &[]);
    assert!(dot(&overview).contains(r#""plug <n>/a\"];evil""#));
    assert!(svg(&overview).contains("&lt;n&gt;/a&quot;];evil"));
}

#[test]
fn a_drawing_shows_every_box_and_says_states_in_words() {
    let svg = svg(&sample());
    for text in ["shop/web", "shop/cron", "data/db", "data/cache", "data/queue", "missing", "Failing", "Blocked"] {
        assert!(svg.contains(&format!(">{text}<")), "{text} is not drawn: {svg}");
    }
    assert_eq!(svg.matches("stroke-dasharray").count(), 3, "three plugs are not coupled");
}

#[test]
fn many_plugs_are_one_box() {
    let plugs: Vec<_> = (0..100)
        .map(|number| {
            let conditions =
                json!([{"type": "Coupled", "status": if number == 7 { "False" } else { "True" }, "reason": "x"}]);
            let coupled = if number == 7 { json!(null) } else { json!({"namespace": "shop", "name": "db"}) };
            json!({"metadata": {"name": format!("p{number}"), "namespace": "shop"}, "spec": {"socket": {"name": "db"}},
                "status": {"conditions": conditions, "coupledSocket": coupled}})
        })
        .collect();
    let overview = PlugOverview::of(&plugs, &[json!({"metadata": {"name": "db", "namespace": "shop"}})]);
    let svg = svg(&overview);
    assert!(svg.contains(">99 plugs<") && svg.contains(">1 plug<"), "{svg}");
    assert!(svg.len() < 10_000);
}
