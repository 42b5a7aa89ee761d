#![allow(clippy::unwrap_used)]

use switchboard_gather::contract::ResourceType;

use super::*;

/// Returns an Event as library-go's recorder creates it at that second.
fn event(now: i64, message: &str) -> ProgramWrite {
    let name = format!("web.{:x}.5bfc8f45", now * 1_000_000_000);
    let body = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "shop", "creationTimestamp": null},
        "involvedObject": {"kind": "Deployment", "namespace": "shop", "name": "web"}, "source": {"component": "Sync"},
        "type": "Normal", "reason": "Changed", "message": message, "count": 1, "eventTime": null,
        "firstTimestamp": now.to_string(), "lastTimestamp": now.to_string(),
    });
    ProgramWrite {
        cluster_type: "Management".into(),
        action: "Create".into(),
        of: ResourceType::new("", "v1", "events"),
        subresource: String::new(),
        namespace: "shop".into(),
        name,
        generate_name: String::new(),
        field_manager: String::new(),
        patch_type: String::new(),
        controller: String::new(),
        body,
        options: Value::Null,
    }
}

/// Formats writes as `Create web.1 x2: message`.
fn left(of: &[ProgramWrite]) -> Vec<String> {
    let formatted = |one: &ProgramWrite| {
        assert_eq!(one.body["metadata"]["name"], one.name.as_str());
        format!("{} {} x{}: {}", one.action, one.name, one.body["count"], one.body["message"].as_str().unwrap())
    };
    of.iter().map(formatted).collect()
}

fn run(correlator: &mut EventCorrelator, now: i64, messages: &[&str]) -> Vec<String> {
    left(&correlator.correlate(messages.iter().map(|message| event(now, message)).collect(), now))
}

#[test]
fn the_same_told_again_raises_the_count_of_the_first() {
    let mut correlator = EventCorrelator::default();
    let first = event(100, "a").name;
    assert_eq!(run(&mut correlator, 100, &["a"]), [format!("Create {first} x1: a")]);
    // The same time would give the same name; another time would give one more Event.
    assert_eq!(run(&mut correlator, 100, &["a"]), [format!("Apply {first} x2: a")]);
    let third = correlator.correlate(vec![event(107, "a")], 107).remove(0);
    assert_eq!(left(std::slice::from_ref(&third)), [format!("Apply {first} x3: a")]);
    assert_eq!((&third.body["firstTimestamp"], &third.body["lastTimestamp"]), (&json!("100"), &json!("107")));
    assert_eq!(third.options, json!({"force": true}));
    assert!(third.body.get("eventTime").is_none() && third.body["metadata"].get("creationTimestamp").is_none());
}

#[test]
fn after_the_window_it_is_told_anew() {
    let mut correlator = EventCorrelator::default();
    run(&mut correlator, 100, &["a"]);
    let later = 100 + WINDOW_SECONDS + 1;
    assert_eq!(run(&mut correlator, later, &["a"]), [format!("Create {} x1: a", event(later, "a").name)]);
    // A steadily repeated Event stays one Event.
    for minute in 1..30 {
        assert_eq!(run(&mut correlator, later + minute * 60, &["a"]).len(), 1);
    }
    assert!(run(&mut correlator, later + 1800, &["a"])[0].starts_with("Apply"));
}

#[test]
fn told_twice_in_one_run_it_is_made_once_with_its_count() {
    let mut correlator = EventCorrelator::default();
    let name = event(100, "a").name;
    assert_eq!(run(&mut correlator, 100, &["a", "a"]), [format!("Create {name} x2: a")]);
    assert_eq!(run(&mut correlator, 101, &["a", "a"]), [format!("Apply {name} x4: a")]);
}

/// Names depend on object, time and message, so two sources with equal messages have the same name.
#[test]
fn two_that_tell_the_same_get_two_names() {
    let mut correlator = EventCorrelator::default();
    let mut other = event(100, "a");
    other.body["source"]["component"] = "Other".into();
    let left = correlator.correlate(vec![event(100, "a"), other], 100);
    assert_eq!(left[1].name, format!("{}.2", left[0].name));
    assert_eq!(left[1].body["metadata"]["name"], left[1].name.as_str());
}

#[test]
fn many_that_differ_in_their_message_alone_become_one() {
    let mut correlator = EventCorrelator::default();
    let messages: Vec<String> = (0..14).map(|number| format!("took {number} ms")).collect();
    for (second, message) in (100..).zip(&messages) {
        let formatted = run(&mut correlator, second, &[message]);
        let number = usize::try_from(second - 100).unwrap();
        match number {
            0..MAX_SIMILAR => {
                assert!(formatted[0].starts_with("Create") && formatted[0].ends_with(message), "{formatted:?}")
            }
            _ => assert!(formatted[0].ends_with(&format!("x{}: {COMBINED}{message}", number - 9)), "{formatted:?}"),
        }
    }
    // Another reason forms another group.
    let mut other = event(120, "took 99 ms");
    other.body["reason"] = "Failed".into();
    assert_eq!(
        left(&correlator.correlate(vec![other], 120))[0],
        format!("Create {} x1: took 99 ms", event(120, "").name)
    );
}

#[test]
fn one_of_the_newer_kind_keeps_its_time_and_counts_in_a_series() {
    let newer = |time: i64| {
        let mut event = event(time, "");
        event.of = ResourceType::new("events.k8s.io", "v1", "events");
        event.body = json!({"metadata": {"name": event.name, "namespace": "shop"}, "eventTime": time.to_string(),
            "regarding": {"kind": "Pod", "name": "a"}, "note": "a", "reason": "Changed", "type": "Normal"});
        event
    };
    let mut correlator = EventCorrelator::default();
    correlator.correlate(vec![newer(100)], 100);
    let second = correlator.correlate(vec![newer(105)], 105).remove(0);
    assert_eq!((second.name.as_str(), &second.body["eventTime"]), (newer(100).name.as_str(), &json!("100")));
    assert_eq!(second.body["series"], json!({"count": 2, "lastObservedTime": "105"}));
}

#[test]
fn everything_else_stays_as_it_is() {
    let mut odd = event(100, "a");
    odd.body = json!(["no object"]);
    let mut pretended = event(100, "a");
    pretended.options = json!({"dryRun": ["All"]});
    let mut patch = event(100, "a");
    patch.action = "Patch".into();
    let mut map = event(100, "a");
    map.of = ResourceType::new("", "v1", "configmaps");
    let all = vec![odd, pretended, patch, map];
    let mut correlator = EventCorrelator::default();
    for _ in 0..2 {
        assert_eq!(correlator.correlate(all.clone(), 100), all);
    }
}

#[test]
fn memory_is_bounded() {
    let mut correlator = EventCorrelator::default();
    for number in 0..MAX_REMEMBERED as i64 + 50 {
        let mut event = event(number, "a");
        event.body["involvedObject"]["name"] = number.to_string().into();
        correlator.correlate(vec![event], number);
    }
    assert_eq!((correlator.observed.len(), correlator.similar.len()), (MAX_REMEMBERED, MAX_REMEMBERED));
    let oldest = correlator.observed.values().map(|formatted| formatted.last).min();
    assert_eq!(oldest, Some(50), "the oldest Events are forgotten");
}
