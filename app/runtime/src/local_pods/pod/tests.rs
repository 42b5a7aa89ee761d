#![allow(clippy::unwrap_used)]

use switchboard_kernel::family::Families;
use switchboard_plugs::family::PlugsFamily;

use super::*;

fn commands() -> ImageCommands {
    let text = "operators:\n  plugs:\n    settings:\n      commands:\n        apparatus:1: [serve, --quiet]\n        short: serve\n";
    ImageCommands::of(
        &Config::parse("switchboard.yaml", text, Families(&[&PlugsFamily])).unwrap(),
        Path::new("/etc/board"),
    )
    .unwrap()
}

fn pod(uid: &str, image: &str, fields: Value) -> Value {
    let env = json!([{"name": "LEVEL", "value": "3"}, {"name": "LD_PRELOAD", "value": "evil.so"}, {"name": "PATH", "value": "/evil"}]);
    let mut pod = json!({"metadata": {"uid": uid, "name": uid, "namespace": "shop"},
        "spec": {"containers": [{"image": image, "env": env, "command": ["rm"]}]}});
    fields.as_object().unwrap().iter().for_each(|(pointer, value)| {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        if parent.is_empty() {
            pod[field] = value.clone()
        } else {
            pod.pointer_mut(parent).unwrap()[field] = value.clone()
        }
    });
    pod
}

#[test]
fn only_mapped_images_run_with_their_mapping() {
    let pods = [pod("a", "apparatus:1", json!({})), pod("b", "postgres:16", json!({}))];
    let acts = plan(&pods, &BTreeSet::new(), &commands());
    let [PodAction::Start { uid, command, env, .. }] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!((uid.as_str(), command.as_slice()), ("a", ["serve".to_string(), "--quiet".to_string()].as_slice()));
    assert_eq!(*env, BTreeMap::from([("LEVEL".to_string(), "3".to_string())]), "a pod does not choose code");
}

#[test]
fn process_starts_once_and_ends_with_its_pod() {
    let running = BTreeSet::from(["a".to_string(), "gone".to_string()]);
    let pods = [pod("a", "short", json!({}))];
    assert_eq!(plan(&pods, &running, &commands()), [PodAction::Stop { uid: "gone".to_string() }]);
    let going = [pod("a", "short", json!({"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}))];
    assert_eq!(
        plan(&going, &BTreeSet::from(["a".to_string()]), &commands()),
        [PodAction::Stop { uid: "a".to_string() }]
    );
}

#[test]
fn ended_pod_is_left_to_its_owner() {
    let pods = [pod("a", "short", json!({"/status": {"phase": "Failed"}}))];
    assert_eq!(plan(&pods, &BTreeSet::new(), &commands()), []);
}

#[test]
fn invalid_mapping_is_named() {
    let parse = |commands: &str| {
        let text = format!("operators:\n  plugs:\n    settings:\n      commands: {commands}\n");
        ImageCommands::of(&Config::parse("switchboard.yaml", &text, Families(&[&PlugsFamily])).unwrap(), Path::new("/"))
    };
    assert!(parse("{a: []}").unwrap_err().to_string().starts_with("operators.plugs.settings.commands.a must be"));
    assert!(parse("[a]").unwrap_err().to_string().starts_with("operators.plugs.settings.commands must be a map"));
    assert!(parse("{}").unwrap().is_empty());
}
