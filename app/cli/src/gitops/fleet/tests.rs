#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_gitops::instance::fleet::PlacementInfo;
use switchboard_gitops::placement::{IncomingLoad, InstanceCandidate};
use switchboard_gitops::rows::EngineInstance;
use switchboard_gitops::rows::fleet::Member;

use super::*;
use crate::output_format::OutputFormat;

fn entry(namespace: &str, member: Option<InstanceState>, applications: u64) -> FleetInstance {
    FleetInstance {
        candidate: InstanceCandidate {
            instance: EngineInstance {
                id: namespace.into(),
                namespace: namespace.into(),
                namespace_uid: "u".into(),
                cluster: "c".into(),
            },
            member: member.map(|state| Member {
                instance: namespace.into(),
                state,
                max_applications: 1000,
                max_environments: 50,
                created_on: Default::default(),
            }),
            applications,
            environments: 2,
            incoming: IncomingLoad::default(),
        },
        moving: 0,
        cluster: "c-uid".into(),
    }
}

#[test]
fn instances_are_listed_and_wide_output_has_ids() {
    let entries = [entry("argocd-one", Some(InstanceState::Active), 12), entry("old", None, 3)];
    let all = FleetTable::instances(&entries);
    assert_eq!(
        OutputFormat::Table.text(&all).unwrap(),
        "Namespace   State         Applications  Placements  Moving\n\
         argocd-one  active        12/1000       2/50        0\n\
         old         unregistered  3             2           0\n"
    );
    let wide = OutputFormat::Wide.text(&all).unwrap();
    assert!(
        wide.starts_with("Namespace   State         Applications  Placements  Moving  Id          Cluster\n"),
        "{wide}"
    );
    let printed: Value = serde_json::from_str(&OutputFormat::Json.text(&all).unwrap()).unwrap();
    assert_eq!((&printed[0]["state"], &printed[0]["maxPlacements"]), (&json!("active"), &json!(50)));
    assert!(OutputFormat::Yaml.text(&all).unwrap().contains("namespace: old\n"));
    let one: Value =
        serde_json::from_str(&OutputFormat::Json.text(&FleetTable::instance(&entries[1])).unwrap()).unwrap();
    assert_eq!(one["namespace"], "old", "one instance is an object, not a list");
    assert_eq!(one["cluster"], "c-uid", "several clusters may have a namespace of this name");
}

#[test]
fn placements_are_listed_with_their_instance() {
    let placement = |tenant: &str, environment: Option<&str>, moving: Option<&str>| PlacementInfo {
        tenant: tenant.into(),
        tenant_uid: format!("{tenant}-uid"),
        environment: environment.map(Into::into),
        environment_uid: environment.map(|name| format!("{name}-uid")),
        instance: "argocd-one".into(),
        cluster: "c-uid".into(),
        applications: 3,
        moving: moving.map(Into::into),
    };
    let all =
        FleetTable::placements(&[placement("shop", None, None), placement("shop", Some("prod"), Some("argocd-two"))]);
    assert_eq!(
        OutputFormat::Table.text(&all).unwrap(),
        "Tenant  Environment  Instance    Applications  Moving\n\
         shop    -            argocd-one  3             -\n\
         shop    prod         argocd-one  3             to argocd-two\n"
    );
    assert!(OutputFormat::Wide.text(&all).unwrap().contains("shop-uid    prod-uid         c-uid\n"));
    let printed: Value = serde_json::from_str(&OutputFormat::Json.text(&all).unwrap()).unwrap();
    assert_eq!(
        (&printed[0]["environment"], &printed[0]["moving"], &printed[1]["movingTo"]),
        (&Value::Null, &json!(false), &json!("argocd-two"))
    );
}
