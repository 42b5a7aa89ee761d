#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::decision::{Cause, RunOutcome, Write, WriteResult};
use crate::operator::{OperatorName, Unit, UnitId};
use crate::plan::{Mutation, UnitStatus};
use crate::resource::{Resource, TableKey};
use crate::topology::{ClusterName, ClusterType};

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
const MARKER: &str = "hunter2-is-planted-here";
const MARKER_BASE64: &str = "aHVudGVyMi1pcy1wbGFudGVkLWhlcmU=";
const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn key(resource: &Resource, name: &str) -> ObjectKey {
    let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(resource.clone()) };
    ObjectKey { table, namespace: Arc::from("shop"), name: Arc::from(name) }
}

fn object(resource: &Resource, name: &str, revision: u64, mut value: Value) -> Object {
    value["metadata"] = json!({ "namespace": "shop", "name": name });
    Object { key: key(resource, name), revision, json: value.to_string().into_bytes().into() }
}

/// Returns a decision that read `read` and wrote `mutations`.
fn decision(id: u64, read: &[Object], mutations: Vec<Mutation>) -> Decision {
    let writes = mutations.into_iter().map(|mutation| Write {
        object: key(&mutation.resource, &mutation.name),
        mutation,
        result: WriteResult::Written { revision: 1000 + id },
    });
    Decision {
        id: DecisionId(id),
        unit: UnitId { operator: OperatorName::new("web"), unit: Unit::object("shop", "web") },
        causes: vec![Cause::Resync],
        triggered_at: NOW,
        started: NOW,
        decide_us: 10,
        write_us: 20,
        gets: read.iter().map(|object| (object.key.clone(), Some(object.revision))).collect(),
        lists: vec![],
        external_queries: vec![],
        rejected_writes: vec![],
        settings: serde_json::Value::Null,
        outcome: RunOutcome::Decided { writes: writes.collect(), status: UnitStatus::Ready },
    }
}

fn apply(name: &str, text: &str) -> Mutation {
    Mutation::apply(
        &CONFIG_MAPS,
        json!({ "metadata": { "namespace": "shop", "name": name }, "data": { "text": text } }),
    )
}

fn ids(journal: &Journal) -> Vec<u64> {
    let id = |entry| match entry {
        JournalEntry::Decision(decision) => Some(decision.id.0),
        JournalEntry::Finding(_) => None,
    };
    let mut ids: Vec<u64> = journal.newest().filter_map(id).collect();
    ids.reverse();
    ids
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = all.filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    found.sort();
    found
}

#[test]
fn guarantees_appended_entries_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let read = [object(&CONFIG_MAPS, "input", 7, json!({ "data": { "a": "b" } }))];
    let finding = Finding::HotLoop {
        object: key(&CONFIG_MAPS, "web"),
        field: ".data.text".into(),
        unit: decision(1, &[], vec![]).unit,
        writes: 5,
        at: NOW,
    };
    {
        let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
        assert_eq!(journal.next_id(), DecisionId(1));
        journal.append(&decision(1, &read, vec![apply("web", "one")]), &read, NOW).unwrap();
        journal.record_finding(&finding, NOW).unwrap();
        journal.append(&decision(2, &read, vec![apply("web", "two")]), &read, NOW).unwrap();
        journal.sync().unwrap();
    }
    let journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    let expected = [
        JournalEntry::Decision(Box::new(decision(2, &read, vec![apply("web", "two")]))),
        JournalEntry::Finding(finding),
        JournalEntry::Decision(Box::new(decision(1, &read, vec![apply("web", "one")]))),
    ];
    assert_eq!(journal.newest().collect::<Vec<_>>(), expected);
    assert_eq!(journal.next_id(), DecisionId(3));
    assert_eq!(journal.get(DecisionId(1)).unwrap(), decision(1, &read, vec![apply("web", "one")]));
    assert_eq!(journal.last_write_of(&key(&CONFIG_MAPS, "web")).unwrap().id, DecisionId(2));
    assert_eq!(journal.last_write_of(&key(&CONFIG_MAPS, "other")), None);
    let contents = journal.reads(DecisionId(2)).unwrap();
    assert_eq!(contents.objects[0].value["data"]["a"], "b");
    assert!(!contents.partial);
    assert!(journal.damage().is_empty());
}

#[test]
fn an_object_is_cached_once_for_all_readers() {
    let dir = tempfile::tempdir().unwrap();
    let read = [object(&CONFIG_MAPS, "input", 7, json!({ "data": { "a": "only-once" } }))];
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    for id in 1..=5 {
        journal.append(&decision(id, &read, vec![apply("web", &id.to_string())]), &read, NOW).unwrap();
    }
    let text = fs::read_to_string(&segments(dir.path())[0]).unwrap();
    assert_eq!(text.matches("only-once").count(), 1);
    assert_eq!(journal.reads(DecisionId(5)).unwrap().objects.len(), 1);
}

#[test]
fn guarantees_bytes_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = JournalLimits { max_bytes: MIN_MAX_BYTES, max_age: DEFAULT_MAX_AGE };
    let mut journal = Journal::open(dir.path(), bounds).unwrap();
    for id in 1..=400 {
        // Some entries do not fit in a segment.
        let long = "x".repeat(if id % 50 == 0 { 100_000 } else { 300 });
        let read = [object(&CONFIG_MAPS, "input", id, json!({ "data": { "a": long } }))];
        journal.append(&decision(id, &read, vec![apply("web", &long)]), &read, NOW).unwrap();
        let bytes: u64 = segments(dir.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert_eq!(bytes, journal.bytes());
        assert!(bytes <= MIN_MAX_BYTES, "{bytes} after {id}");
    }
    assert!(journal.get(DecisionId(1)).is_none());
    assert!(journal.reads(DecisionId(400)).unwrap().partial);
    assert_eq!(*ids(&journal).last().unwrap(), 400);
    assert!(ids(&journal).len() > 20);
}

#[test]
fn old_entries_are_removed() {
    let mut journal =
        Journal::in_memory(JournalLimits { max_age: Duration::from_secs(1600), ..JournalLimits::default() });
    for id in 1..=100 {
        let now = NOW.after(Duration::from_secs(id * 100));
        journal.append(&decision(id, &[], vec![apply("web", &id.to_string())]), &[], now).unwrap();
        let oldest = *ids(&journal).first().unwrap();
        assert!((id - oldest) * 100 <= 1600 + 200, "{oldest} is kept at {id}");
    }
    assert_eq!(*ids(&journal).first().unwrap(), 84);
}

#[test]
fn guarantees_a_cut_at_any_byte_keeps_earlier_lines() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    journal.append(&decision(1, &[], vec![apply("web", "one")]), &[], NOW).unwrap();
    let whole = journal.bytes();
    journal.append(&decision(2, &[], vec![apply("web", "two")]), &[], NOW).unwrap();
    let path = segments(dir.path()).remove(0);
    let bytes = fs::read(&path).unwrap();
    drop(journal);
    for cut in usize::try_from(whole).unwrap()..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let torn = cut as u64 > whole;
        let reader = Journal::read(dir.path()).unwrap();
        assert_eq!((ids(&reader), reader.damage().len()), (vec![1], usize::from(torn)));
        let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
        assert!(journal.damage().iter().all(|damage| damage.torn));
        journal.append(&decision(3, &[], vec![]), &[], NOW).unwrap();
        drop(journal);
        let again = Journal::read(dir.path()).unwrap();
        assert_eq!((ids(&again), again.damage()), (vec![1, 3], [].as_slice()), "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_costs_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    for id in 1..=3 {
        journal.append(&decision(id, &[], vec![apply("web", "text")]), &[], NOW).unwrap();
    }
    drop(journal);
    let path = segments(dir.path()).remove(0);
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        let journal = Journal::read(dir.path()).unwrap();
        assert!(!journal.damage().is_empty() || ids(&journal).len() == 3, "bit of byte {at} went unseen");
        // A damaged line end joins two lines.
        assert!(ids(&journal).len() > usize::from(bytes[at] != b'\n'), "byte {at}: {:?}", ids(&journal));
        assert!(ids(&journal).is_sorted());
    }
}

#[test]
fn guarantees_no_secret_reaches_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "data": { "password": MARKER_BASE64 } });
    let read = [
        object(&SECRETS, "db", 3, secret.clone()),
        object(&CONFIG_MAPS, "copy", 4, json!({ "data": { "url": format!("postgres://u:{MARKER}@db") } })),
    ];
    let bare = Mutation::patch(
        &SECRETS,
        "shop",
        "out",
        crate::plan::PatchType::Merge,
        json!({ "stringData": { "password": MARKER } }),
    );
    let mut one = decision(1, &read, vec![apply("web", MARKER), bare, Mutation::create(&SECRETS, secret)]);
    one.external_queries.push(crate::view::ExternalQuery {
        kind: "weather".to_string(),
        request: json!({ "token": MARKER }),
        answer: Err(format!("no {MARKER}")),
        deterministic: false,
        digest: None,
    });
    let mut two = decision(2, &read, vec![]);
    two.outcome = RunOutcome::Failed { message: format!("could not log in with {MARKER}") };
    journal.append(&one, &read, NOW).unwrap();
    journal.append(&two, &read, NOW).unwrap();
    drop(journal);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(MARKER) && !text.contains(MARKER_BASE64), "{} holds it", path.display());
    }
    let journal = Journal::read(dir.path()).unwrap();
    assert_eq!(ids(&journal), [1, 2]);
    assert!(journal.reads(DecisionId(1)).unwrap().objects.iter().all(|kept| kept.redacted));
}

#[test]
fn secret_looking_text_does_not_reach_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    let plug = json!({ "kind": "Plug", "spec": { "config": { "password": MARKER, "database": "orders" } } });
    let text = json!({ "data": { "app.yaml": format!("db: https://u:{MARKER}@db/x\ntoken: {MARKER}\nsize: 3") } });
    let read = [object(&CONFIG_MAPS, "plug", 3, plug), object(&CONFIG_MAPS, "text", 4, text)];
    let written = apply("web", &format!("https://u:{MARKER}@git.example.com/x.git"));
    let mut one = decision(1, &read, vec![written]);
    let operations = json!([{ "op": "add", "path": "/spec/config/password", "value": MARKER }]);
    let answer = json!({ "mutations": [{ "of": { "group": "", "version": "v1", "resource": "secrets" },
        "body": { "stringData": { "short": "pw-1" } } }] });
    one.external_queries.push(crate::view::ExternalQuery {
        kind: "weather".to_string(),
        request: json!({ "patch": operations }),
        answer: Ok(answer),
        deterministic: false,
        digest: None,
    });
    let mut two = decision(2, &read, vec![]);
    two.outcome = RunOutcome::Failed { message: format!("no answer from https://u:{MARKER}@db") };
    journal.append(&one, &read, NOW).unwrap();
    journal.append(&two, &read, NOW).unwrap();
    drop(journal);
    for path in segments(dir.path()) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(MARKER) && !text.contains("pw-1"), "{text}");
        assert!(text.contains("orders") && text.contains("size: 3"), "the rest stays: {text}");
    }
}

#[test]
fn guarantees_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    assert!(matches!(Journal::open(dir.path(), JournalLimits::default()), Err(JournalError::Busy(_))));
    journal.append(&decision(1, &[], vec![]), &[], NOW).unwrap();
    let mut reader = Journal::read(dir.path()).unwrap();
    assert_eq!(ids(&reader), [1]);
    assert!(matches!(reader.append(&decision(2, &[], vec![]), &[], NOW), Err(JournalError::ReadOnly)));
    drop(journal);
    assert!(Journal::open(dir.path(), JournalLimits::default()).is_ok());
}

#[test]
fn other_users_cannot_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("journal");
    let mut journal = Journal::open(&dir, JournalLimits::default()).unwrap();
    journal.append(&decision(1, &[], vec![]), &[], NOW).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for entry in fs::read_dir(&dir).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn older_and_newer_formats_are_refused_and_left_alone() {
    // The first one is what format 1 began with.
    for (head, found) in [(r#"{"head":{"format":1,"next":1}}"#, 1), (r#"{"head":{"format":3,"shape":"new"}}"#, 3)] {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        line::push(&mut bytes, head.as_bytes());
        bytes.extend_from_slice(b"0000");
        let path = dir.path().join("00000001.seg");
        fs::write(&path, &bytes).unwrap();
        let message = |opened: Result<Journal, JournalError>| opened.err().unwrap().to_string();
        let expected = format!(
            "could not read the journal {}: it has format {found}, and this version reads format 2",
            path.display()
        );
        assert_eq!(message(Journal::open(dir.path(), JournalLimits::default())), expected);
        assert_eq!(message(Journal::read(dir.path())), expected);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn records_have_the_field_names_of_the_format() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    let web = apply("web", "text").on(ClusterType::Management);
    journal.append(&decision(1, &[], vec![web]), &[], NOW).unwrap();
    drop(journal);
    let text = fs::read_to_string(dir.path().join("00000001.seg")).unwrap();
    for field in ["status", "operation", "preconditions", "clusterType", "externalQueries", "triggeredAt"] {
        assert!(text.contains(&format!("\"{field}\":")), "{field} is missing in {text}");
    }
    for former in ["standing", "act", "expect", "place", "asked", "woken"] {
        assert!(!text.contains(&format!("\"{former}\":")), "{former} is in {text}");
    }
}

#[test]
fn quiet_runs_are_coalesced_and_their_numbers_stay_taken() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    let read = [object(&CONFIG_MAPS, "input", 7, json!({}))];
    journal.append(&decision(1, &read, vec![]), &read, NOW).unwrap();
    let before = journal.bytes();
    for id in 2..=200 {
        let now = NOW.after(Duration::from_secs(id));
        journal.append(&Decision { started: now, ..decision(id, &read, vec![]) }, &read, now).unwrap();
    }
    assert!(journal.bytes() < before + 200, "{} bytes for 199 quiet runs", journal.bytes() - before);
    assert_eq!(journal.next_id(), DecisionId(201));
    let last = journal.get(DecisionId(200)).unwrap();
    assert_eq!(last.started, NOW.after(Duration::from_secs(200)));
    assert_eq!(last.gets, decision(1, &read, vec![]).gets);
    assert_eq!(journal.reads(DecisionId(200)).unwrap().objects.len(), 1);
    // After a crash no number is used twice.
    assert!(Journal::read(dir.path()).unwrap().next_id() >= DecisionId(201));
    // A run that is not quiet writes the pending quiet run first.
    journal.append(&decision(201, &read, vec![apply("web", "x")]), &read, NOW).unwrap();
    assert_eq!(ids(&journal), [1, 200, 201]);
    drop(journal);
    let journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    assert_eq!(journal.next_id(), DecisionId(202));
    assert_eq!(ids(&journal), [1, 200, 201]);
}

#[test]
fn a_quiet_run_is_written_from_time_to_time() {
    let mut journal = Journal::in_memory(JournalLimits::default());
    for id in 1..=7 {
        let now = NOW.after(QUIET_EVERY / 2 * u32::try_from(id - 1).unwrap());
        journal.append(&decision(id, &[], vec![]), &[], now).unwrap();
    }
    assert_eq!(ids(&journal), [1, 3, 5, 7]);
}

#[test]
fn a_quiet_run_whose_number_is_returned_is_on_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    let read = [object(&CONFIG_MAPS, "input", 7, json!({}))];
    for id in 1..=3 {
        journal.append(&decision(id, &read, vec![]), &read, NOW.after(Duration::from_secs(id))).unwrap();
    }
    assert_eq!(Journal::read(dir.path()).unwrap().get(DecisionId(3)), None, "it is remembered only");
    journal.flush(&[DecisionId(3), DecisionId(99)]).unwrap();
    let bytes = journal.bytes();
    journal.flush(&[DecisionId(3)]).unwrap();
    assert_eq!(journal.bytes(), bytes, "once is enough");
    // The unit continues to run, but the client still asks for the number.
    journal.append(&decision(4, &read, vec![]), &read, NOW.after(Duration::from_secs(4))).unwrap();
    let disk = Journal::read(dir.path()).unwrap();
    assert_eq!(disk.recorded(DecisionId(3)).unwrap().reads.objects.len(), 1);
    drop(journal);
    assert_eq!(ids(&Journal::read(dir.path()).unwrap()), [1, 3, 4]);
}

/// For example a hosted program, whose answer contains the cost of its run.
#[test]
fn a_run_with_a_deterministic_query_is_quiet_too() {
    let asked = |id: u64, deterministic: bool| {
        let answer = Ok(json!({ "usage": id }));
        vec![crate::view::ExternalQuery {
            kind: "weather".to_string(),
            request: json!({ "now": id }),
            answer,
            deterministic,
            digest: None,
        }]
    };
    for (follows, kept) in [(true, vec![1]), (false, vec![1, 2, 3, 4])] {
        let mut journal = Journal::in_memory(JournalLimits::default());
        for id in 1..=4 {
            let one = Decision { external_queries: asked(id, follows), ..decision(id, &[], vec![]) };
            journal.append(&one, &[], NOW.after(Duration::from_secs(id))).unwrap();
        }
        let written: Vec<u64> = ids(&journal).into_iter().filter(|id| *id != 4 || !follows).collect();
        assert_eq!(written, kept, "the newest is remembered");
    }
}

/// For example the live command of a program, whose answer contains external state and the cost of its run.
#[test]
fn a_query_with_an_equal_digest_is_quiet() {
    let look = |id: u64, digest: u64| {
        let answer = Ok(json!({ "usage": id }));
        vec![crate::view::ExternalQuery {
            kind: "weather".to_string(),
            request: json!({ "now": id }),
            answer,
            deterministic: false,
            digest: Some(digest),
        }]
    };
    let mut journal = Journal::in_memory(JournalLimits::default());
    for (id, digest) in [(1, 7), (2, 7), (3, 7), (4, 8), (5, 8)] {
        let one = Decision { external_queries: look(id, digest), ..decision(id, &[], vec![]) };
        journal.append(&one, &[], NOW.after(Duration::from_secs(id))).unwrap();
    }
    assert_eq!(ids(&journal), [1, 3, 4], "the first of each, and the last before a change");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn appended_entries_are_read_in_order(
        texts in proptest::collection::vec(("\\PC{0,40}", 0u64..5, any::<bool>()), 1..40),
        reopen in 0usize..40,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
        let mut expected = Vec::new();
        for (at, (text, revision, reads)) in texts.iter().enumerate() {
            if at == reopen {
                drop(journal);
                journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
            }
            let read = [object(&CONFIG_MAPS, "input", *revision, json!({ "data": { "r": revision } }))];
            let read = if *reads { &read[..] } else { &[] };
            let one = decision(journal.next_id().0.max(1), read, vec![apply("web", text)]);
            journal.append(&one, read, NOW).unwrap();
            prop_assert_eq!(journal.reads(one.id).unwrap().objects.len(), read.len());
            expected.insert(0, JournalEntry::Decision(Box::new(one)));
        }
        prop_assert_eq!(journal.newest().collect::<Vec<_>>(), expected.clone());
        drop(journal);
        prop_assert_eq!(Journal::read(dir.path()).unwrap().newest().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn lost_entries_are_reported_to_later_readers() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    journal.append(&decision(1, &[], vec![]), &[], NOW).unwrap();
    assert_eq!(journal.range(), JournalRange { since: Some(NOW), lost: 0 });
    journal.record_lost(2, NOW).unwrap();
    drop(journal);
    assert_eq!(Journal::read(dir.path()).unwrap().range(), JournalRange { since: Some(NOW), lost: 2 });
    let path = segments(dir.path()).remove(0);
    let text = fs::read_to_string(&path).unwrap().replacen("\"causes\"", "\"cauzes\"", 1);
    fs::write(&path, text).unwrap();
    assert_eq!(Journal::read(dir.path()).unwrap().range().lost, 3, "a damaged entry is lost too");
}

#[test]
fn a_removed_journal_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("journal");
    let mut journal = Journal::open(&folder, JournalLimits::default()).unwrap();
    journal.append(&decision(1, &[], vec![]), &[], NOW).unwrap();
    journal.sync().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    journal.append(&decision(2, &[], vec![apply("web", "text")]), &[], NOW).unwrap();
    assert!(matches!(journal.sync(), Err(JournalError::Removed(_))));
    // Another file with the same name does not count.
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("00000001.seg"), "").unwrap();
    assert!(matches!(journal.sync(), Err(JournalError::Removed(_))));
}

#[test]
fn damage_is_told_once_for_each_file() {
    let damage = |segment, offset, torn| Damage { segment, offset, bytes: 10, torn };
    let damages = [damage(1, 0, false), damage(1, 20, false), damage(2, 0, false), damage(3, 9, true)];
    let told: Vec<String> = DamagedSegment::of(&damages).iter().map(ToString::to_string).collect();
    let expected = [
        "segment 1 is damaged in 2 places: 20 bytes are left out",
        "segment 2 is damaged: 10 bytes are left out",
        "segment 3 was not written to its end: 10 bytes are left out",
    ];
    assert_eq!(told, expected);
}
