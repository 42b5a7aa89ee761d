#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn parts() -> impl Strategy<Value = FaultPart> {
    (0..FaultKind::ALL.len(), 1..u32::MAX, 1..u32::MAX).prop_map(|(kind, at, times)| FaultPart {
        kind: FaultKind::ALL[kind],
        at,
        times,
    })
}

proptest! {
    #[test]
    fn the_text_of_a_fault_reads_back(parts in proptest::collection::vec(parts(), 0..=MAX_PARTS)) {
        let fault = Fault::of(parts);
        prop_assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9:x+-]{0,40}") {
        if let Ok(fault) = text.parse::<Fault>() {
            prop_assert!(fault.parts().len() <= MAX_PARTS);
        }
    }
}

#[test]
fn faults_have_the_documented_names() {
    let text = "crash-after-write:3";
    assert_eq!(text.parse::<Fault>().unwrap(), Fault::of([FaultPart::once(FaultKind::CrashAfterWrite, 3)]));
    let two = Fault::of([
        FaultPart::once(FaultKind::CrashAtWrite, 1),
        FaultPart { kind: FaultKind::MissEvent, at: 4, times: 2 },
    ]);
    assert_eq!(two.to_string(), "crash-at-write:1+miss-event:4x2");
    assert_eq!(Fault::none().to_string(), "none");
}

#[test]
fn invalid_faults_are_reported() {
    let said = |text: &str| text.parse::<Fault>().unwrap_err().to_string();
    assert!(said("crash:1").starts_with("unknown fault `crash`\nhint: use one of crash-before-write, "));
    assert!(said("crash-at-write:0").starts_with("`crash-at-write:0` has no number of a write or event\nhint: "));
    assert!(said("crash-at-write:+1").starts_with("`crash-at-write:` has no number"));
    assert!(said("miss-event").contains("has no number"));
    assert!(said("miss-event:1+miss-event:2+miss-event:3").ends_with("has more than 2 faults"));
}

#[test]
fn a_fault_part_applies_the_given_number_of_times() {
    let part = FaultPart { kind: FaultKind::Response429, at: 2, times: 3 };
    assert_eq!((1..7).filter(|write| part.applies_to(*write)).collect::<Vec<_>>(), [2, 3, 4]);
}
