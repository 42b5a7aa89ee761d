//! Replays of decisions that asked an external system.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::DeserializeOwned;

use super::*;
use crate::view::{ExternalQuery, ExternalState};

const CANARY: &str = "hunter2-hunter2";

/// Operator that writes the temperature of a city, and counts the answers of the weather service.
struct ThermometerOperator<A> {
    city: &'static str,
    answer: fn() -> Result<A, String>,
    answers: AtomicUsize,
}

#[derive(Serialize)]
struct TemperatureQuestion<A> {
    city: &'static str,
    #[serde(skip)]
    answer: std::marker::PhantomData<A>,
}

impl<A: Serialize + DeserializeOwned> Question for TemperatureQuestion<A> {
    type Answer = A;
    const KIND: &'static str = "temperature";
}

/// Question with the same content as a [`TemperatureQuestion`].
#[derive(Serialize)]
struct HumidityQuestion {
    city: &'static str,
}

impl Question for HumidityQuestion {
    type Answer = u8;
    const KIND: &'static str = "humidity";

    fn external_state(_answer: &Result<u8, String>) -> ExternalState {
        ExternalState::Nothing
    }
}

impl<A: Serialize + DeserializeOwned + 'static> Operator for ThermometerOperator<A> {
    fn name(&self) -> &str {
        "made"
    }

    fn declaration(&self) -> Declaration {
        let kinds = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: kinds.clone(), outputs: kinds, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let question = TemperatureQuestion { city: self.city, answer: std::marker::PhantomData };
        let (token, mut body) = (CANARY.to_string(), None);
        let answer = view.ask(question, |question| {
            self.answers.fetch_add(1, Ordering::Relaxed);
            body = Some(format!("{token} for {}", question.city));
            (self.answer)()
        });
        let data = json!({ "now": answer.map_err(DecideError::Failed)?, "bytes": body.map_or(0, |body| body.len()) });
        let mut plan = Plan::nothing();
        if self.city == "Bergen" {
            plan.push(map("weather", json!({ "now": data["now"] })));
        } else {
            plan.push(map("weather", data));
        }
        Ok(plan)
    }
}

fn thermometer<A>(city: &'static str, answer: fn() -> Result<A, String>) -> ThermometerOperator<A> {
    ThermometerOperator { city, answer, answers: AtomicUsize::new(0) }
}

fn replayed(operator: &dyn Operator, journal: &Journal) -> ReplayComparison {
    replay(operator, journal, DecisionId(1), &[])
}

fn queries(journal: &Journal) -> Vec<ExternalQuery> {
    journal.get(DecisionId(1)).unwrap().external_queries
}

#[test]
fn question_and_answer_are_recorded_with_their_type() {
    let journal = record(&thermometer("Bergen", || Ok(7)), &[]);
    let recorded = ExternalQuery {
        kind: "temperature".to_string(),
        request: json!({ "city": "Bergen" }),
        answer: Ok(json!(7)),
        deterministic: false,
        digest: None,
    };
    assert_eq!(queries(&journal), [recorded]);
    let failed = record(&thermometer::<i32>("Bergen", || Err("no such city".to_string())), &[]);
    assert_eq!(queries(&failed)[0].answer, Err("no such city".to_string()));
    assert_eq!(replayed(&thermometer("Bergen", || Ok(9)), &failed), ReplayComparison::Same);
}

#[test]
fn a_replay_decodes_the_recorded_answer_and_asks_nothing() {
    let journal = record(&thermometer("Bergen", || Ok(7)), &[]);
    let operator = thermometer("Bergen", || Ok(9));
    assert_eq!(replayed(&operator, &journal), ReplayComparison::Same);
    assert_eq!(operator.answers.load(Ordering::Relaxed), 0);
}

#[test]
fn data_beside_a_question_is_neither_recorded_nor_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let decision = record(&thermometer("Bergen", || Ok(7)), &[]).get(DecisionId(1)).unwrap();
    let mut journal = Journal::open(dir.path(), JournalLimits::default()).unwrap();
    journal.append(&decision, &[], NOW).unwrap();
    drop(journal);
    let written: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into_owned())
        .collect();
    assert!(written.iter().any(|text| text.contains("temperature")), "{written:?}");
    assert!(!written.iter().any(|text| text.contains(CANARY)), "{written:?}");
    // The plan of this operator depends on the body, which a replay does not have.
    let journal = record(&thermometer("Oslo", || Ok(7)), &[]);
    let ReplayComparison::Different { lines, .. } = replayed(&thermometer("Oslo", || Ok(7)), &journal) else {
        panic!("not told apart")
    };
    assert_eq!(lines, ["~ apply configmaps/shop/weather: .data.bytes 24 -> 0"]);
}

#[test]
fn an_answer_of_another_type_leaves_the_replay_undecided() {
    let journal = record(&thermometer("Bergen", || Ok(7)), &[]);
    let ReplayComparison::Undecided { why } = replayed(&thermometer("Bergen", || Ok("warm".to_string())), &journal)
    else {
        panic!("the number is no text")
    };
    let expected = "replay: could not read the recorded answer of query `temperature`: invalid type: integer `7`, expected a string";
    assert_eq!(why, expected);
}

#[test]
fn a_question_without_a_recorded_answer_is_another_read() {
    let journal = record(&thermometer("Bergen", || Ok(7)), &[]);
    let operator = thermometer("Oslo", || Ok(7));
    let ReplayComparison::Different { after, lines, .. } = replayed(&operator, &journal) else {
        panic!("not told apart")
    };
    let message = "this query was not sent when the decision was recorded".to_string();
    assert_eq!(after, ReplayResult::Failed { message });
    assert_eq!(lines.last().unwrap(), "the replay also reads an external system with another query `temperature`");
    assert_eq!(operator.answers.load(Ordering::Relaxed), 0);
}

#[test]
fn an_answer_to_another_kind_of_question_is_not_used() {
    let journal = record(&thermometer("Bergen", || Ok(7)), &[]);
    let humid: ReplayDecide = |view| {
        let percent = view.ask(HumidityQuestion { city: "Bergen" }, |_| Ok(80)).map_err(DecideError::Failed)?;
        let mut plan = Plan::nothing();
        plan.push(map("weather", json!({ "now": percent })));
        Ok(plan)
    };
    let ReplayComparison::Different { after, .. } = again(humid, &journal, &[]) else { panic!("not told apart") };
    assert!(matches!(after, ReplayResult::Failed { .. }), "{after:?}");
    assert!(queries(&record(&ClosureOperator(humid), &[]))[0].deterministic);
}

/// A recording of an older version names no kinds.
#[test]
fn a_query_without_a_kind_is_read() {
    let query: ExternalQuery = serde_json::from_value(json!({ "request": 1, "answer": { "Ok": 2 } })).unwrap();
    assert_eq!((query.kind.as_str(), query.answer), ("", Ok(json!(2))));
}
