#![allow(clippy::unwrap_used)]

use switchboard_gitops::fleet::Candidate;
use switchboard_ledger::rows::EngineInstance;
use switchboard_ledger::rows::fleet::Member;

use super::*;

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
        },
        moving: 0,
    }
}

#[test]
fn instances_are_told_one_a_line() {
    let entries = [entry("argocd-one", Some(InstanceState::Active), 12), entry("old", None, 3)];
    assert_eq!(
        table::fleet(&entries),
        "NAMESPACE   STATE         APPLICATIONS  UNITS  MOVING\n\
         argocd-one  active        12/1000       2/50   0\n\
         old         unregistered  3             2      0\n"
    );
    let told = Value::from(&entries[0]);
    assert_eq!((&told["state"], &told["maxUnits"]), (&json!("active"), &json!(50)));
}
