//! Redaction of a preview.
//!
//! The pair is rendered again with substitutes for all secret values. Every text that differs depends on a secret.

use serde_json::{Value, json};
use switchboard_kernel::redact::{REDACTED, Redactor, redact_secrets};

use super::event_preview::EventPreviews;
use super::{CouplingPreview, EventPreview, ObjectAction, PreviewError, PreviewFiles};
use crate::coupling::ConfigAnswer;
use crate::redaction::{RenderInputs, STAND_INS, SecretSource, SubstitutedPair, redacted_results};
use crate::render::{
    ComputeError, CouplingPair, CouplingSide, ObjectQuery, PerSide, TemplateEngine, ValueSource, Values, data,
    secret_names,
};

/// Files of a preview, with the secret values of the files and of the pair.
pub(super) struct SecretFiles<'a> {
    files: &'a PreviewFiles,
    secrets: Redactor,
}

impl<'a> SecretFiles<'a> {
    /// Collects the secret values: those of Secrets, and literals that the interface marks.
    pub fn new(files: &'a PreviewFiles, pair: CouplingPair<'_>) -> Self {
        let mut secrets = Redactor::from(files.objects());
        for side in CouplingSide::BOTH {
            let spec = pair.side(side);
            for (what, sources) in [("config", &spec.config), ("result", &spec.result)] {
                let marked = secret_names(pair.socket.interface.as_ref(), side, what);
                let literals: Values =
                    sources.inline.clone().into_iter().filter(|(name, _)| marked.contains(name)).collect();
                secrets.add_of_kind("Secret", &json!({"stringData": literals}));
            }
        }
        Self { files, secrets }
    }

    /// Returns the files.
    pub fn files(&self) -> &'a PreviewFiles {
        self.files
    }

    /// Redacts secret values in the message of an error.
    pub fn redact_error(&self, error: PreviewError) -> PreviewError {
        let PreviewError::Compute { what, source } = error else { return error };
        let source = match source {
            ComputeError::Missing(words) => ComputeError::Missing(self.secrets.redact(&words)),
            ComputeError::Invalid(words) => ComputeError::Invalid(self.secrets.redact(&words)),
            stop @ ComputeError::Decide(_) => stop,
        };
        PreviewError::Compute { what, source }
    }
}

impl ValueSource for SecretFiles<'_> {
    fn config_map(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        self.files.config_map(side, namespace, name)
    }

    fn secret(&self, side: CouplingSide, namespace: &str, name: &str) -> Result<Values, ComputeError> {
        self.files.secret(side, namespace, name)
    }

    fn object(&self, side: CouplingSide, wanted: &ObjectQuery<'_>) -> Result<Value, ComputeError> {
        self.files.object(side, wanted)
    }
}

impl SecretSource for SecretFiles<'_> {
    fn is_secret(&self, text: &str) -> bool {
        self.secrets.redact(text) != text
    }

    fn has_read_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }
}

/// Redacts secret values in a preview, and every text that depends on one.
///
/// # Errors
/// [`PreviewError`] of the files.
pub(super) fn redact(
    files: &SecretFiles<'_>,
    engine: &TemplateEngine,
    pair: CouplingPair<'_>,
    mut preview: CouplingPreview,
) -> Result<CouplingPreview, PreviewError> {
    let wrong = |source: ComputeError| super::compute_error("the redacted values")(source);
    let data = data(files, pair).map_err(wrong)?;
    let config_answers = config_answers(files.files);
    let inputs = RenderInputs { engine, pair, config_answers: &config_answers, data: &data };
    let (config, result) = (preview.config.clone(), preview.result.clone());
    let redacted = match &result {
        Some(result) => redacted_results(files, &inputs, &config, result).map_err(wrong)?,
        None => PerSide::default(),
    };
    let mut others = Vec::new();
    for stand_in in STAND_INS {
        let substituted = SubstitutedPair::new(files, &inputs, &config, stand_in).map_err(wrong)?;
        for side in CouplingSide::BOTH {
            let other = substituted.config.of(side);
            let differing = config.of(side).iter().filter(|(name, text)| other.get(*name) != Some(*text));
            differing.for_each(|(name, _)| drop(preview.config.of_mut(side).insert(name.clone(), REDACTED.into())));
        }
        let result = result.clone().map(|result| replaced(result, &redacted, stand_in));
        let events = EventPreviews::new(engine, substituted.pair(), &substituted.config, result.as_ref(), true);
        // Objects that cannot be rendered with the substitute depend on a secret.
        others.push(events.all().map(|(events, _)| events).unwrap_or_default());
    }
    preview.result = result.map(|result| replaced(result, &redacted, REDACTED));
    preview.events.iter_mut().for_each(|event| redact_event(event, &others));
    preview.omitted.iter_mut().for_each(|words| *words = files.secrets.redact(words));
    Ok(preview)
}

fn config_answers(files: &PreviewFiles) -> PerSide<Option<ConfigAnswer>> {
    let of = |side: CouplingSide| {
        files.answer(side).map(|values| ConfigAnswer { key: String::new(), values: values.clone() })
    };
    PerSide { plug: of(CouplingSide::Plug), socket: of(CouplingSide::Socket) }
}

fn replaced(mut values: PerSide<Values>, names: &PerSide<Vec<String>>, text: &str) -> PerSide<Values> {
    for side in CouplingSide::BOTH {
        let redacted = values.of_mut(side).iter_mut().filter(|(name, _)| names.of(side).contains(name));
        redacted.for_each(|(_, value)| *value = text.to_string());
    }
    values
}

fn redact_event(event: &mut EventPreview, others: &[Vec<EventPreview>]) {
    let all = std::mem::take(&mut event.actions);
    event.actions = (0..all.len())
        .map(|index| {
            let counterparts: Option<Vec<&Value>> =
                others.iter().map(|other| counterpart(other, event, &all, index)).collect();
            let ObjectAction { path, action, object } = all[index].clone();
            let object = match counterparts {
                Some(counterparts) => redact_secrets(&redacted(&object, &counterparts)),
                None => json!({"apiVersion": object["apiVersion"], "kind": object["kind"],
                    "metadata": {"name": REDACTED}}),
            };
            ObjectAction { path, action, object }
        })
        .collect();
}

/// Returns the object that the same template makes with the substitute. A template may make several.
fn counterpart<'a>(
    other: &'a [EventPreview],
    event: &EventPreview,
    all: &[ObjectAction],
    index: usize,
) -> Option<&'a Value> {
    let is_same = |one: &ObjectAction| one.path == all[index].path && one.action == all[index].action;
    let earlier = all[..index].iter().filter(|one| is_same(one)).count();
    let other = other.iter().find(|one| one.event == event.event && one.side == event.side)?;
    other.actions.iter().filter(|one| is_same(one)).nth(earlier).map(|one| &one.object)
}

/// Returns a value with every part redacted that differs from the renderings with substitutes.
fn redacted(value: &Value, others: &[&Value]) -> Value {
    match value {
        Value::Object(fields) if others.iter().all(|other| other.is_object()) => {
            let field = |(key, inner): (&String, &Value)| {
                let inners: Option<Vec<&Value>> = others.iter().map(|other| other.get(key)).collect();
                match inners {
                    Some(inners) => (key.clone(), redacted(inner, &inners)),
                    None => (REDACTED.to_string(), Value::from(REDACTED)),
                }
            };
            fields.iter().map(field).collect()
        }
        Value::Array(items) if others.iter().all(|other| other.as_array().map(Vec::len) == Some(items.len())) => {
            let item = |(index, item)| {
                let inners: Vec<&Value> = others.iter().map(|other| &other[index]).collect();
                redacted(item, &inners)
            };
            items.iter().enumerate().map(item).collect()
        }
        _ if others.iter().all(|other| *other == value) => value.clone(),
        // A text with the placeholder was rendered without any secret.
        _ => {
            let marked = |other: &&&Value| other.as_str().is_some_and(|text| text.contains(REDACTED));
            others.iter().find(marked).map_or_else(|| REDACTED.into(), |other| (*other).clone())
        }
    }
}
