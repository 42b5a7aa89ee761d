#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_chart::file::ChartFile;

use super::*;
use crate::chart::IntegrationsChart;
use crate::settings::RenderSettings;
use crate::source::Bundle;

/// Chart that writes texts without quotes, like qontract-reconcile's.
const TEMPLATE: &str = r#"apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: t}
objects:
{{- range $i := .Values.integrations }}
{{- range $shard := $i.shard_specs }}
- apiVersion: apps/v1
  kind: {{ if $i.cache }}StatefulSet{{ else }}Deployment{{ end }}
  metadata:
    name: q-{{ $i.name }}{{ $shard.shard_name_suffix }}
    labels: {app: q-{{ $i.name }}}
  spec:
    replicas: {{ if and $shard.shard_spec_overrides $shard.shard_spec_overrides.disabled }}0{{ else }}1{{ end }}
    selector: {matchLabels: {app: q-{{ $i.name }}}}
    template:
      metadata: {labels: {app: q-{{ $i.name }}}}
      spec:
        containers:
        - name: int
          {{- if and $shard.shard_spec_overrides $shard.shard_spec_overrides.imageRef }}
          image: ${IMAGE}:{{ $shard.shard_spec_overrides.imageRef }}
          {{- else }}
          image: ${IMAGE}:${IMAGE_TAG}@${IMAGE_DIGEST}
          {{- end }}
          env:
          - name: ARGS
            value: {{ $shard.extra_args | quote }}
          {{- range $i.extraEnv }}
          - name: {{ .name }}
            value: {{ .value }}
          {{- end }}
          resources:
            limits:
              memory: {{ "${" }}{{ $i.name | upper | replace "-" "_" }}_MEMORY{{ "}" }}
{{- end }}
{{- end }}
{{- range $i := .Values.cronjobs }}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: q-{{ $i.name }}, labels: {app: q-{{ $i.name }}}}
  spec:
    schedule: "{{ $i.cron }}"
    successfulJobsHistoryLimit: {{ $i.successfulJobHistoryLimit | default 3 }}
    jobTemplate:
      spec:
        template:
          spec:
            containers:
            - name: int
              image: ${IMAGE}:${IMAGE_TAG}@${IMAGE_DIGEST}
              env:
              - name: ARGS
                value: {{ $i.extraArgs | quote }}
{{- end }}
- apiVersion: v1
  kind: Service
  metadata: {name: q, labels: {app: q}}
  spec: {ports: [{port: 80, protocol: TCP}], selector: {component: q}}
parameters:
- {name: IMAGE, value: default}
- {name: IMAGE_TAG, value: latest}
- {name: IMAGE_DIGEST, value: ''}
{{- range $i := .Values.integrations }}
- name: {{ $i.name | upper | replace "-" "_" }}_MEMORY
  value: {{ $i.resources.limits.memory }}
{{- end }}
"#;

pub fn chart() -> IntegrationsChart {
    chart_with("")
}

/// Returns the chart with a prefix before its template.
pub fn chart_with(more: &str) -> IntegrationsChart {
    let template = format!("{more}{TEMPLATE}");
    let files = vec![
        ChartFile::new("Chart.yaml", b"{apiVersion: v2, name: t, version: 1.0.0}"),
        ChartFile::new("templates/t.yaml", template.as_bytes()),
    ];
    IntegrationsChart::from_files("t", files).unwrap()
}

/// Returns the files of a small app-interface: two environments, two clusters, two accounts.
pub fn files(integrations: &[(&str, String)]) -> Bundle {
    let mut texts: Vec<(String, String)> = [
        ("/stage.yml", "$schema: /openshift/lean-namespace-1.yml\nname: stage-ns\ncluster: {name: c1, serverUrl: u}\nenvironment: {name: stage, parameters: {IMAGE_TAG: abc}}\n"),
        ("/prod.yml", "$schema: /openshift/lean-namespace-1.yml\nname: prod-ns\ncluster: {name: c2, serverUrl: u}\nenvironment: {name: prod}\n"),
        ("/aws/1.yml", "$schema: /aws/account-1.yml\nname: acc-1\n"),
        ("/aws/2.yml", "$schema: /aws/account-1.yml\nname: acc-2\n"),
    ]
    .map(|(path, text)| (path.to_string(), text.to_string()))
    .to_vec();
    texts.extend(integrations.iter().map(|(name, managed)| {
        (format!("/i/{name}.yml"), format!("$schema: /app-sre/integration-1.yml\nname: {name}\nmanaged:\n{managed}"))
    }));
    Bundle::from_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
}

pub const RESOURCES: &str = "resources: {requests: {cpu: 100m, memory: 1Mi}, limits: {memory: 2Mi}}";

pub fn runs(file: &str, spec: &str, sharding: &str) -> String {
    let sharding = if sharding.is_empty() { String::new() } else { format!("  sharding: {sharding}\n") };
    format!("- namespace: {{$ref: {file}}}\n  spec: {{{RESOURCES}{spec}}}\n{sharding}")
}

pub fn settings(compat: bool) -> RenderSettings {
    let mut settings = RenderSettings::default();
    settings.scope.compat = compat;
    settings
}

pub fn desired(bundle: &Bundle, compat: bool) -> DesiredObjects {
    DesiredBuilder::new(chart(), settings(compat)).build(bundle)
}

fn only(bundle: &Bundle, compat: bool) -> Vec<Value> {
    let desired = desired(bundle, compat);
    assert_eq!(desired.problems(), []);
    let target = desired.namespaces.values().next().unwrap();
    target.objects().into_iter().map(|object| object.body.clone()).collect()
}

#[test]
fn integrations_become_objects_by_cluster_and_namespace() {
    let bundle = files(&[
        ("one", runs("/stage.yml", "", "") + &runs("/prod.yml", "", "")),
        (
            "terraform-resources",
            runs(
                "/stage.yml",
                ", imageRef: x",
                "{strategy: per-aws-account, shardSpecOverrides: [{shard: {$ref: /aws/2.yml}, imageRef: foo, disabled: true}]}",
            ),
        ),
    ]);
    for compat in [true, false] {
        let desired = desired(&bundle, compat);
        assert_eq!(desired.problems(), []);
        let names = |cluster: &str, namespace: &str| -> Vec<String> {
            let target = &desired.namespaces[&(Arc::from(cluster), Arc::from(namespace))];
            target.objects().iter().map(|object| object.name.clone()).collect()
        };
        let stage = ["q-one", "q-terraform-resources-acc-1", "q-terraform-resources-acc-2", "q"];
        assert_eq!(
            (names("c1", "stage-ns"), names("c2", "prod-ns")),
            (stage.map(String::from).to_vec(), vec!["q-one".to_string(), "q".to_string()])
        );
        let target = &desired.namespaces[&(Arc::from("c1"), Arc::from("stage-ns"))];
        let overridden = &target.integration("terraform-resources").unwrap().objects[1];
        assert_eq!(overridden.body["spec"]["replicas"], 0);
        assert_eq!(overridden.shard.as_ref().unwrap().name(), "acc-2");
        let image = &overridden.body["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "quay.io/app-sre/qontract-reconcile:foo");
    }
}

/// Objects that were correct keep the hashes of qontract-reconcile.
#[test]
fn correct_objects_keep_their_hashes() {
    let bundle = files(&[
        ("one", runs("/stage.yml", ", extraEnv: [{name: A, value: plain}]", "{strategy: static, shards: 2}")),
        ("two", runs("/stage.yml", ", cron: '* * * * *', extraArgs: --x", "")),
    ]);
    let hashes = |compat| {
        let mut settings = settings(compat);
        settings.variables.insert("IMAGE_DIGEST".to_string(), "sha256:1".to_string());
        let desired = DesiredBuilder::new(chart(), settings).build(&bundle);
        let target = desired.namespaces.values().next().unwrap();
        target.objects().iter().map(|object| (object.name.clone(), object.hash.clone())).collect::<Vec<_>>()
    };
    assert_eq!(hashes(true), hashes(false));
}

/// Spec 8.1, 1: an invalid integration does not affect others.
#[test]
fn an_invalid_integration_disables_only_itself() {
    let good = runs("/stage.yml", "", "");
    for bad in [
        runs("/stage.yml", "", "{strategy: per-moon}"),
        runs("/gone.yml", "", ""),
        runs("/stage.yml", ", cache: 3", ""),
        runs("/stage.yml", "", "{strategy: static, shards: 0}"),
        runs("/stage.yml", "", "{strategy: static, shards: 2, shardSpecOverrides: [{shard: 9}]}"),
    ] {
        let desired = desired(&files(&[("bad", bad), ("good", good.clone())]), false);
        assert_eq!(desired.problems().len(), 1, "{:?}", desired.problems());
        assert_eq!(&*desired.problems()[0].file, "/i/bad.yml");
        assert_eq!(desired.len(), 2);
    }
}

/// Spec 8.1, 1 and 8.3, 8: whole numbers of CPUs, and texts that YAML reads as other types.
#[test]
fn texts_keep_their_type() {
    let spec = ", extraEnv: [{name: A, value: 'true'}, {name: B, value: '5'}, {name: C, value: '#x'}, {name: D, value: 'a: b'}, {name: E, value: '*x'}]";
    let bundle = files(&[("one", runs("/stage.yml", spec, "").replace("memory: 2Mi", "memory: '2000000'"))]);
    let broken = desired(&bundle, true);
    assert_eq!(broken.problems().len(), 1);
    let objects = only(&bundle, false);
    let container = &objects[0]["spec"]["template"]["spec"]["containers"][0];
    let values: Vec<&str> =
        container["env"].as_array().unwrap().iter().map(|env| env["value"].as_str().unwrap()).collect();
    assert_eq!(values, ["", "true", "5", "#x", "a: b", "*x"]);
    assert_eq!(container["resources"]["limits"]["memory"], "2000000");
}

/// Spec 8.3, 9.
#[test]
fn an_image_without_digest_has_no_separator() {
    let bundle = files(&[("one", runs("/stage.yml", "", ""))]);
    let image = |compat| only(&bundle, compat)[0]["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image(true), "quay.io/app-sre/qontract-reconcile:abc@");
    assert_eq!(image(false), "quay.io/app-sre/qontract-reconcile:abc");
}

/// Spec 8.3, 10: CronJobs support images, shards, arguments and disabling.
#[test]
fn cron_jobs_have_shards_and_overrides() {
    let sharding = "{strategy: per-aws-account, shardSpecOverrides: [{shard: {$ref: /aws/2.yml}, imageRef: foo, disabled: true, \
        resources: {requests: {cpu: 2m, memory: 2Mi}, limits: {memory: 3Mi}}}]}";
    let bundle = files(&[(
        "terraform-resources",
        runs("/stage.yml", ", cron: '* * * * *', imageRef: stable, successfulJobHistoryLimit: 2000000", sharding),
    )]);
    let was = only(&bundle, true);
    assert_eq!((was.len(), &was[0]["spec"]["successfulJobsHistoryLimit"]), (2, &json!("2e+06")));
    let now = only(&bundle, false);
    let container = |index: usize| &now[index]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        (&now[0]["metadata"]["name"], &now[1]["metadata"]["name"]),
        (&json!("q-terraform-resources-acc-1"), &json!("q-terraform-resources-acc-2"))
    );
    assert_eq!((&now[0]["spec"]["suspend"], &now[1]["spec"]["suspend"]), (&json!(null), &json!(true)));
    assert_eq!(container(0)["image"], "quay.io/app-sre/qontract-reconcile:stable");
    assert_eq!(container(1)["image"], "quay.io/app-sre/qontract-reconcile:foo");
    assert_eq!(container(1)["resources"]["limits"]["memory"], "3Mi");
    assert_eq!(
        container(0)["env"],
        json!([{"name": "SHARD_KEY", "value": "acc-1"}, {"name": "ARGS", "value": "--account-name acc-1"}])
    );
    assert_eq!(now[0]["spec"]["successfulJobsHistoryLimit"], 2_000_000);
}

/// Spec 8.1, 3: duplicates are reported with both positions, and none is chosen.
#[test]
fn duplicate_entries_and_colliding_names_are_reported() {
    let twice = desired(
        &files(&[
            ("one", runs("/stage.yml", "", "") + &runs("/stage.yml", "", "")),
            ("two", runs("/stage.yml", "", "")),
        ]),
        false,
    );
    let told: Vec<String> = twice.problems().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("/i/one.yml managed[1]") && told[1].contains("/i/one.yml managed[0]"), "{told:?}");
    assert_eq!(twice.len(), 2);
    let names = desired(
        &files(&[("a", runs("/stage.yml", "", "{strategy: static, shards: 2}")), ("a-1", runs("/stage.yml", "", ""))]),
        false,
    );
    let told: Vec<String> = names.problems().iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(told, ["renders Deployment q-a-1, as does a", "renders Deployment q-a-1, as does a-1"]);
}

#[test]
fn two_files_for_one_namespace_are_reported() {
    let lean = |name: &str| {
        format!(
            "$schema: /openshift/lean-namespace-1.yml\nname: ns\ncluster: {{name: c, serverUrl: u}}\nenvironment: {{name: {name}}}\n"
        )
    };
    let one = format!(
        "$schema: /app-sre/integration-1.yml\nname: one\nmanaged:\n{}{}",
        runs("/a.yml", "", ""),
        runs("/b.yml", "", "")
    );
    let bundle =
        Bundle::from_texts([("/a.yml", lean("x").as_str()), ("/b.yml", lean("y").as_str()), ("/i.yml", one.as_str())]);
    let desired = desired(&bundle, false);
    let told: Vec<String> = desired.problems().iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(
        told,
        [
            "/a.yml describes namespace ns of cluster c, which is also described by /b.yml",
            "/b.yml describes namespace ns of cluster c, which is also described by /a.yml"
        ]
    );
    assert_eq!(desired.len(), 0, "which is meant cannot be known");
}

/// The length of image tags is read from the data; a change renders the objects again.
#[test]
fn a_changed_tag_length_changes_images() {
    let mut settings = settings(false);
    settings.image_tag_from_ref.insert("stage".to_string(), "0123456789abcdef0123456789abcdef01234567".to_string());
    let mut builder = DesiredBuilder::new(chart(), settings);
    let mut image = |length: usize| {
        let length = format!("$schema: /app-interface/app-interface-settings-1.yml\nhashLength: {length}\n");
        let one = format!("$schema: /app-sre/integration-1.yml\nname: one\nmanaged:\n{}", runs("/stage.yml", "", ""));
        let stage = "$schema: /openshift/lean-namespace-1.yml\nname: n\ncluster: {name: c, serverUrl: u}\nenvironment: {name: stage}\n";
        let bundle =
            Bundle::from_texts([("/length.yml", length.as_str()), ("/one.yml", one.as_str()), ("/stage.yml", stage)]);
        let desired = builder.build(&bundle);
        let target = desired.namespaces.values().next().unwrap();
        target.objects()[0].body["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_string()
    };
    assert_eq!(image(7), "quay.io/app-sre/qontract-reconcile:0123456");
    assert_eq!(image(9), "quay.io/app-sre/qontract-reconcile:012345678");
}

/// A branch without a known commit disables only the workloads that would run its image.
#[test]
fn an_unknown_reference_disables_only_its_workloads() {
    let mut settings = settings(false);
    settings.image_tag_from_ref.insert("stage".to_string(), "main".to_string());
    let pinned = runs("/stage.yml", "", "{strategy: static, shards: 1, shardSpecOverrides: [{shard: 0, imageRef: x}]}");
    let bundle = files(&[("one", runs("/stage.yml", "", "")), ("pinned", pinned)]);
    let desired = DesiredBuilder::new(chart(), settings.clone()).build(&bundle);
    let told: Vec<String> = desired.problems().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("/i/one.yml") && told[0].contains("the commit of `main`"), "{told:?}");
    assert_eq!(desired.len(), 2, "the other and what is shared");
    settings.commits.insert((settings.caller().to_string(), "main".to_string()), "f".repeat(40));
    assert_eq!(DesiredBuilder::new(chart(), settings).build(&bundle).problems(), []);
}

/// An unreadable file prevents deletions only if it may define integrations.
#[test]
fn only_relevant_unreadable_files_prevent_deletions() {
    let of = |schema: &str| {
        let broken = format!("$schema: {schema}\nname: [\n");
        let one = format!(
            "$schema: /app-sre/integration-1.yml\nname: one\nmanaged:\n{}",
            runs(
                "/stage.yml",
                "",
                "{strategy: per-object, schema: /regions/region-1.yml, namePath: name, argument: --region}"
            )
        );
        let stage = "$schema: /openshift/lean-namespace-1.yml\nname: n\ncluster: {name: c, serverUrl: u}\nenvironment: {name: stage}\n";
        let region = "$schema: /regions/region-1.yml\nname: r\n";
        let texts =
            [("/a.yml", broken.as_str()), ("/one.yml", one.as_str()), ("/r.yml", region), ("/stage.yml", stage)];
        let desired = desired(&Bundle::from_texts(texts), false);
        assert_eq!(desired.problems().len(), 1, "{:?}", desired.problems());
        (desired.unreadable.len(), desired.unrelated.len())
    };
    assert_eq!(of("/access/user-1.yml"), (0, 1));
    for matters in ["/app-sre/integration-1.yml", "/openshift/cluster-1.yml", "/regions/region-1.yml", "*stranger"] {
        assert_eq!(of(matters), (1, 0), "{matters}");
    }
}

/// An unchanged bundle renders nothing; a changed integration renders one chart.
#[test]
fn only_what_changed_is_rendered() {
    let bundle = |memory: &str| {
        files(&[
            ("one", runs("/stage.yml", "", "")),
            ("two", runs("/stage.yml", "", "").replace("2Mi", memory)),
            ("three", runs("/prod.yml", "", "")),
        ])
    };
    let mut builder = DesiredBuilder::new(chart(), settings(false));
    assert_eq!(builder.build(&bundle("2Mi")).rendered, 5);
    assert_eq!(builder.build(&bundle("2Mi")).rendered, 0);
    assert_eq!(builder.build(&bundle("3Mi")).rendered, 1);
}

#[test]
fn the_number_of_shards_follows_the_data() {
    let per_account = runs("/stage.yml", "", "{strategy: per-aws-account}");
    let count = |more: &[(&str, &str)]| {
        let integration =
            format!("$schema: /app-sre/integration-1.yml\nname: terraform-resources\nmanaged:\n{per_account}");
        let mut texts = vec![
            (
                "/stage.yml",
                "$schema: /openshift/lean-namespace-1.yml\nname: n\ncluster: {name: c1, serverUrl: u}\nenvironment: {name: stage}\n",
            ),
            ("/i.yml", integration.as_str()),
        ];
        texts.extend(more);
        desired(&Bundle::from_texts(texts), false).len()
    };
    let (one, other) = ("$schema: /aws/account-1.yml\nname: a\n", "$schema: /aws/account-1.yml\nname: b\n");
    assert_eq!((count(&[("/a.yml", one)]), count(&[("/a.yml", one), ("/b.yml", other)])), (2, 3));
}
