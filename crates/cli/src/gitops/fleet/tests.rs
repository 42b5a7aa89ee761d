#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_gitops::fleet::{Candidate, Coming};
use switchboard_ledger::rows::EngineInstance;
use switchboard_ledger::rows::fleet::Member;

use super::*;
use crate::form::Form;

fn entry(namespace: &str, member: Option<InstanceState>, applications: u64) -> Entry {
    Entry {
        candidate: Candidate {
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
            coming: Coming::default(),
        },
        moving: 0,
    }
}

#[test]
fn instances_are_told_one_a_line_and_wide_with_their_ids() {
    let entries = [entry("argocd-one", Some(InstanceState::Active), 12), entry("old", None, 3)];
    let all = Instances::all(&entries);
    assert_eq!(
        Form::Table.text(&all).unwrap(),
        "Namespace   State         Applications  Units  Moving\n\
         argocd-one  active        12/1000       2/50   0\n\
         old         unregistered  3             2      0\n"
    );
    assert!(Form::Wide.text(&all).unwrap().starts_with("Namespace   State         Applications  Units  Moving  Id\n"));
    let told: Value = serde_json::from_str(&Form::Json.text(&all).unwrap()).unwrap();
    assert_eq!((&told[0]["state"], &told[0]["maxUnits"]), (&json!("active"), &json!(50)));
    assert!(Form::Yaml.text(&all).unwrap().contains("namespace: old\n"));
    let one: Value = serde_json::from_str(&Form::Json.text(&Instances::one(&entries[1])).unwrap()).unwrap();
    assert_eq!(one["namespace"], "old", "whoever asks for one gets it, and no list");
}
