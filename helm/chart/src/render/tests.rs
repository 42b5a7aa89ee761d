//! The renderer as a library: sharing, limits, error positions. Byte-exact output is tested in `tests/charts`.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::file::ChartFile;

fn compiled(files: &[(&str, &str)]) -> CompiledChart {
    let own = [("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}")];
    let files = own.iter().chain(files).map(|(name, text)| ChartFile::new(*name, text.as_bytes())).collect();
    CompiledChart::new(Chart::from_files(files).unwrap())
}

fn request(values: &str) -> RenderRequest {
    let mut request = RenderRequest::new(Release::new("rel", "default"));
    request.values = crate::values::read(values).unwrap();
    request
}

fn error_of(template: &str, values: &str) -> ChartRenderError {
    compiled(&[("templates/a.yaml", template)]).render(&request(values)).unwrap_err()
}

#[test]
fn guarantees_threads_render_the_same() {
    let chart = compiled(&[
        ("values.yaml", "count: 1\nt: 'tpl {{ .Values.count }}'"),
        ("templates/_h.tpl", "{{ define \"h\" }}{{ tpl .Values.t . }}{{ end }}"),
        ("templates/a.yaml", "kind: A\ncount: {{ .Values.count }}\nh: {{ include \"h\" . }}\n"),
    ]);
    let alone: Vec<String> = (0..20).map(|n| text(&chart, n)).collect();
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|n| {
                scope.spawn({
                    let chart = &chart;
                    move || text(chart, n)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    assert!(alone[7].contains("h: tpl 7"), "{}", alone[7]);
}

fn text(chart: &CompiledChart, n: usize) -> String {
    chart.render(&request(&format!("count: {n}"))).unwrap().files["shop/templates/a.yaml"].to_string()
}

#[test]
fn guarantees_the_same_request_gives_the_same() {
    let chart = compiled(&[("templates/a.yaml", "kind: {{ randAlpha 5 }}\nid: {{ uuidv4 }}\n")]);
    let mut request = request("");
    assert!(chart.render(&request).is_err(), "no chance was given");
    request.system_inputs = SystemInputs::fixed("2026-01-01T00:00:00Z".parse().unwrap(), b"seed");
    let first = chart.render(&request).unwrap().files;
    request.system_inputs = SystemInputs::fixed("2026-01-01T00:00:00Z".parse().unwrap(), b"seed");
    assert_eq!(first, chart.render(&request).unwrap().files);
}

#[test]
fn renderings_are_independent() {
    let chart = compiled(&[
        ("values.yaml", "m: {a: 1}"),
        ("templates/a.yaml", "kind: A\nm: {{ .Values.m | toJson }}\n{{ $_ := set .Values.m \"b\" 2 }}"),
    ]);
    for _ in 0..2 {
        assert_eq!(
            chart.render(&request("")).unwrap().sorted.manifests[0].object().unwrap()["m"],
            serde_json::json!({"a": 1})
        );
    }
}

#[test]
fn endless_includes_end() {
    let chart = compiled(&[
        ("templates/_h.tpl", "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}"),
        ("templates/a.yaml", "{{ include \"x\" . }}"),
    ]);
    let error = chart.render(&request("")).unwrap_err().to_string();
    assert!(
        error.contains("rendering template has a nested reference name: x: unable to execute template"),
        "{}",
        &error[..200]
    );
}

#[test]
fn endless_templates_end() {
    let error = error_of("{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}", "").to_string();
    assert!(error.contains("exceeded maximum template depth"), "{}", &error[..error.len().min(300)]);
}

#[test]
fn endless_tpl_ends() {
    let error = error_of("{{ tpl .Values.t . }}", "t: '{{ tpl .Values.t . }}'").to_string();
    assert!(error.contains("tpl is nested deeper than 1000 levels"), "{}", &error[error.len() - 300..]);
}

#[test]
fn huge_ranges_end() {
    let chart = compiled(&[("templates/a.yaml", "{{ range untilStep 0 2000000000 1 }}x{{ end }}")]);
    let mut request = request("");
    request.limits.steps = 1_000_000;
    assert!(chart.render(&request).is_err());
    let chart = compiled(&[("templates/a.yaml", "{{ range 1000000 }}{{ range 1000000 }}{{ end }}{{ end }}")]);
    assert!(chart.render(&request).unwrap_err().to_string().contains("steps"));
}

#[test]
fn huge_outputs_end() {
    let chart = compiled(&[("templates/a.yaml", "{{ range 100000 }}{{ repeat 1000 \"x\" }}{{ end }}")]);
    let mut request = request("");
    request.limits.output_bytes = 1_000_000;
    assert!(chart.render(&request).is_err());
}

#[test]
fn maps_that_contain_themselves_end() {
    let chart =
        compiled(&[("templates/a.yaml", "kind: A\n{{ $m := dict }}{{ $_ := set $m \"m\" $m }}y: [{{ toYaml $m }}]\n")]);
    assert_eq!(*chart.render(&request("")).unwrap().files["shop/templates/a.yaml"], "kind: A\ny: []\n");
}

#[test]
fn missing_parents_of_fields_are_explained() {
    let error = error_of("a: 1\nb: {{ .Values.image.tag }}\n", "");
    let place = error.position().unwrap();
    assert_eq!((place.file.as_str(), place.line), ("shop/templates/a.yaml", 2));
    assert_eq!(place.problem, "`.Values.image` is not set, so it has no `tag`");
    assert!(place.hint.as_deref().unwrap().starts_with("set it, for example with --set image.tag=..."), "{place}");
}

#[test]
fn invalid_yaml_is_traced_to_its_template() {
    let template = "kind: A\n{{- if true }}\ndata:\n  x: {{ .Values.note }}\n{{- end }}\n";
    let error = error_of(template, "note: 'a: b'");
    let place = error.position().unwrap();
    assert_eq!((place.line, place.column), (4, Some(6)), "{place}");
    assert!(place.problem.contains("`.Values.note` is \"a: b\""), "{place}");
    assert_eq!(place.hint.as_deref(), Some("quote it: {{ .Values.note | quote }}"));
}

#[test]
fn lookup_queries_the_cluster() {
    struct SingleObject;
    impl ClusterLookup for SingleObject {
        fn lookup(
            &self,
            version: &str,
            kind: &str,
            namespace: &str,
            name: &str,
        ) -> Result<Option<switchboard_object::Value>, String> {
            Ok((name == "there").then(|| serde_json::json!({"v": version, "k": kind, "n": namespace, "i": 3})))
        }
    }
    let text = "kind: A\nt: {{ (lookup \"v1\" \"Secret\" \"ns\" \"there\") | toJson }}\nnone: {{ lookup \"v1\" \"Secret\" \"ns\" \"x\" | toJson }}\n";
    let chart = compiled(&[("templates/a.yaml", text)]);
    let mut request = request("");
    request.lookup = Some(Arc::new(SingleObject));
    let object = chart.render(&request).unwrap().sorted.manifests[0].object().unwrap();
    assert_eq!(
        object,
        serde_json::json!({"kind": "A", "t": {"v": "v1", "k": "Secret", "n": "ns", "i": 3}, "none": {}})
    );
}

#[test]
fn linting_tolerates_missing_values() {
    let chart = compiled(&[("templates/a.yaml", "kind: A\nx: '{{ required \"x\" .Values.x }}{{ fail \"y\" }}'\n")]);
    let mut request = request("");
    request.lint = true;
    assert_eq!(chart.render(&request).unwrap().sorted.manifests[0].object().unwrap()["x"], "");
}

#[test]
fn templates_are_parsed_once_per_subchart_selection() {
    let files = |count: usize| {
        let mut files = vec![("templates/a.yaml".to_string(), "kind: A\n".to_string())];
        for n in 0..count {
            files.push((format!("charts/s{n}/Chart.yaml"), format!("{{apiVersion: v2, name: s{n}, version: 1.0.0}}")));
            files.push((format!("charts/s{n}/templates/b.yaml"), "kind: B\nname: {{ .Chart.Name }}\n".to_string()));
        }
        files
    };
    let files = files(100);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let chart = compiled(&files);
    assert_eq!(chart.render(&request("")).unwrap().sorted.manifests.len(), 101);
    assert_eq!(chart.shapes.lock().unwrap().len(), 1, "parsed once");
    chart.render(&request("s1: {x: 1}")).unwrap();
    assert_eq!(chart.shapes.lock().unwrap().len(), 1, "other values, the same templates");
}

#[test]
fn templates_of_a_chart_share_a_budget() {
    let busy = "kind: A\n{{ range 600000 }}{{ end }}";
    let two = compiled(&[("templates/a.yaml", busy), ("templates/b.yaml", busy)]);
    let mut limited = request("");
    limited.limits.steps = 1_000_000;
    let error = two.render(&limited).unwrap_err().to_string();
    assert!(error.contains("took more than 1000000 steps"), "{error}");
    compiled(&[("templates/a.yaml", busy)]).render(&limited).unwrap();
}

#[test]
fn negative_zero_is_kept_as_in_go() {
    let template = r#"kind: A
a: {{ toJson (fromJson "{\"c\":-0.0}") | squote }}
b: {{ toJson (fromJsonArray "[-0, 0, 0.0]") | squote }}
"#;
    let made = compiled(&[("templates/a.yaml", template)]).render(&request("")).unwrap();
    assert_eq!(made.files["shop/templates/a.yaml"].as_str(), "kind: A\na: '{\"c\":-0}'\nb: '[-0,0,0]'\n");
}

#[test]
fn malformed_globs_match_every_file() {
    for pattern in ["[a", "{a"] {
        let template = format!("kind: A\na: {{{{ len (.Files.Glob {pattern:?}) }}}}\n");
        let made = compiled(&[("templates/a.yaml", &template), ("x/f.txt", ""), ("g.txt", "")]);
        let made = made.render(&request("")).unwrap();
        assert_eq!(made.files["shop/templates/a.yaml"].as_str(), "kind: A\na: 2\n", "{pattern}");
    }
}

#[test]
fn parsing_texts_and_files_is_charged() {
    let limits = ExecutionLimits { steps: 500_000, output_bytes: 1 << 20, ..ExecutionLimits::default() };
    let file = "x".repeat(500_000);
    for work in [
        "fromYamlArray (printf \"[%s]\" (repeat 300000 \"1,\"))",
        "fromJsonArray (printf \"[%s1]\" (repeat 300000 \"1,\"))",
        "range 1000 }}{{ $_ := set $d (toString .) ($.Files.Get \"f.txt\") }}{{ end",
        "range 1000 }}{{ $.Files.AsConfig | len }}{{ end",
        "range 1000 }}{{ $.Files.Lines \"f.txt\" | len }}{{ end",
        "range 1000 }}{{ include \"big\" . | len }}{{ end",
        "range 10000 }}{{ $.Values.YAML | len }}{{ end",
    ] {
        let template = format!("{{{{ $d := dict }}}}{{{{ {work} }}}}");
        let helper = "{{ define \"big\" }}{{ repeat 500000 \"a\" }}{{ end }}";
        let files = [("f.txt", file.as_str()), ("templates/_h.tpl", helper), ("templates/a.yaml", template.as_str())];
        let mut limited = request(&format!("text: {}", "y".repeat(100_000)));
        limited.limits = limits;
        let error = compiled(&files).render(&limited).unwrap_err().to_string();
        let bound = ["took more than 500000 steps", "created more than 138412032 bytes"];
        assert!(bound.iter().any(|bound| error.contains(bound)), "{work}: {error}");
    }
}

#[test]
fn nested_aliases_end() {
    // Ten levels of charts, each under ten names in its parent: 10^10 instances.
    let mut files = vec![("Chart.yaml".to_string(), level(0))];
    let mut folder = String::new();
    for depth in 1..=10 {
        folder.push_str(&format!("charts/c{depth}/"));
        files.push((format!("{folder}Chart.yaml"), level(depth)));
    }
    let files = files.iter().map(|(name, text)| ChartFile::new(name.clone(), text.as_bytes())).collect();
    let error = CompiledChart::new(Chart::from_files(files).unwrap()).render(&request("")).unwrap_err().to_string();
    assert_eq!(error, "chart dependencies processing failed: aliases create more than 10000 subcharts");
}

fn level(depth: usize) -> String {
    let below = depth + 1;
    let names = (0..10).map(|n| format!("- {{name: c{below}, version: 1.0.0, alias: a{n}}}\n"));
    let dependencies = if depth < 10 { format!("dependencies:\n{}", names.collect::<String>()) } else { String::new() };
    format!("apiVersion: v2\nname: c{depth}\nversion: 1.0.0\n{dependencies}")
}

#[test]
fn nested_global_tables_are_shared_by_all_charts() {
    let shown = "kind: A\nglobal: {{ toJson .Values.global | squote }}\n";
    let chart = |name: &str| format!("{{apiVersion: v2, name: {name}, version: 1.0.0}}");
    let files = [
        ("Chart.yaml", chart("shop")),
        ("values.yaml", "global: {a: {b: {x: 1}, p: 0}}".to_string()),
        ("templates/a.yaml", shown.to_string()),
        ("charts/one/Chart.yaml", chart("one")),
        ("charts/one/values.yaml", "global: {a: {b: {v: 2}, q: 0}}".to_string()),
        ("charts/one/templates/a.yaml", shown.to_string()),
        ("charts/two/Chart.yaml", chart("two")),
        ("charts/two/values.yaml", "global: {a: {b: {v: 3, z: 4}}}".to_string()),
        ("charts/two/templates/a.yaml", shown.to_string()),
    ];
    let files = files.iter().map(|(name, text)| ChartFile::new(*name, text.as_bytes())).collect();
    let rendered = CompiledChart::new(Chart::from_files(files).unwrap()).render(&request("")).unwrap().files;
    let of = |name: &str| rendered[&format!("shop/{name}templates/a.yaml")].to_string();
    let shared = "\"b\":{\"v\":2,\"x\":1,\"z\":4}";
    assert_eq!(of(""), format!("kind: A\nglobal: '{{\"a\":{{{shared},\"p\":0}}}}'\n"));
    assert_eq!(of("charts/one/"), format!("kind: A\nglobal: '{{\"a\":{{{shared},\"p\":0,\"q\":0}}}}'\n"));
    assert_eq!(of("charts/two/"), format!("kind: A\nglobal: '{{\"a\":{{{shared},\"p\":0}}}}'\n"));
}

#[test]
fn invalid_yaml_is_traced_to_its_action_or_helper() {
    let place = |files: &[(&str, &str)], values: &str| {
        let error = compiled(files).render(&request(values)).unwrap_err();
        let place = error.position().unwrap();
        (place.file.clone(), place.line, place.column)
    };
    let file = |name: &str| format!("shop/templates/{name}");
    // An action on its own line.
    let own = "kind: A\nspec:\n  ok: 1\n  {{- .Values.text | nindent 2 }}\n  more: 1\n";
    assert_eq!(place(&[("templates/a.yaml", own)], "text: 'a: b: c'"), (file("a.yaml"), 4, Some(3)));
    let own = "kind: A\nspec:\n  ok: 1\n{{ .Values.text | indent 2 }}\n";
    assert_eq!(place(&[("templates/a.yaml", own)], "text: 'a: b: c'"), (file("a.yaml"), 4, Some(1)));
    // A line of a helper in another file.
    let helper = "{{ define \"labels\" -}}\napp: shop\nnote: {{ .Values.text }}\n{{- end }}\n";
    let user = "kind: A\nlabels:\n  {{- include \"labels\" . | nindent 2 }}\n";
    let files = [("templates/_h.tpl", helper), ("templates/a.yaml", user)];
    assert_eq!(place(&files, "text: 'a: b'"), (file("_h.tpl"), 3, Some(7)));
    // A template may process a helper's text further. The calling line is still known.
    let user = "kind: A\n{{ if eq (include \"name\" .) \"shop\" }}x: 1{{ end }}\nlabels:\n  {{- include \"labels\" . | nindent 2 }}\n";
    let named = format!("{helper}{{{{ define \"name\" }}}}shop{{{{ end }}}}");
    let files = [("templates/_h.tpl", named.as_str()), ("templates/a.yaml", user)];
    assert_eq!(place(&files, "text: 'a: b'"), (file("a.yaml"), 4, Some(3)));
}
