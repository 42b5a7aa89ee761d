//! Result of a run, in a form that can be compared.

use serde::{Deserialize, Serialize};

use crate::decision::RunOutcome;
use crate::operator::OperatorName;
use crate::plan::{Mutation, Preconditions, UnitStatus};
use crate::redact::{REDACTED, redact_message, redact_mutation};
use crate::resource::TableKey;
use crate::view::ExternalQuery;

/// Result of a run without the kernel's additions: sorted by object, and without the preconditions that the arbiter
/// resolves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplayResult {
    /// The operator returned a plan.
    Decided {
        /// Mutations, sorted by object.
        mutations: Vec<Mutation>,
        /// Status of the unit.
        status: UnitStatus,
    },
    /// The operator returned an error.
    Failed {
        /// Error message.
        message: String,
    },
    /// The operator read a kind that is not cached.
    NotCached {
        /// Missing kinds.
        missing: Vec<TableKey>,
    },
}

impl ReplayResult {
    /// Returns the result of a recorded run.
    pub fn of(operator: &OperatorName, outcome: &RunOutcome) -> Self {
        match outcome {
            RunOutcome::Decided { writes, status } => {
                let mutations = writes.iter().map(|write| write.mutation.clone()).collect();
                Self::decided(operator, mutations, status.clone())
            }
            RunOutcome::Failed { message } => Self::Failed { message: message.clone() },
            RunOutcome::NotCached { missing } => Self::NotCached { missing: missing.clone() },
        }
    }

    /// Redacts the result as in the journal: values of Secrets, and what looks like a secret.
    #[must_use]
    pub fn redacted(self) -> Self {
        match self {
            Self::Decided { mutations, status } => {
                Self::Decided { mutations: mutations.iter().map(redact_mutation).collect(), status }
            }
            other => other,
        }
        .with_redacted_messages()
    }

    /// Redacts what looks like a secret in messages.
    #[must_use]
    pub fn with_redacted_messages(self) -> Self {
        match self {
            Self::Decided { mutations, status } => {
                Self::Decided { mutations, status: status.map_message(&redact_message) }
            }
            Self::Failed { message } => Self::Failed { message: redact_message(&message) },
            Self::NotCached { missing } => Self::NotCached { missing },
        }
    }

    /// Serializes the result; equal results have equal bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // Serializing these types to memory cannot fail: all map keys are strings.
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn decided(operator: &OperatorName, mut mutations: Vec<Mutation>, status: UnitStatus) -> Self {
        for mutation in &mut mutations {
            if matches!(mutation.preconditions, Preconditions::Exact { .. }) {
                mutation.preconditions = Preconditions::AsRead;
            }
            if mutation.field_manager.as_deref() == Some(&operator.0) {
                mutation.field_manager = None;
            }
        }
        // The sort is stable, so writes to one object stay in their order.
        let by = |m: &Mutation| {
            (m.cluster_type, m.resource.clone(), m.namespace.clone(), m.name.clone(), m.subresource.clone(), m.verb())
        };
        mutations.sort_by_cached_key(by);
        Self::Decided { mutations, status }
    }
}

/// Whether an answer contains a redacted value.
pub(super) fn is_redacted(asked: &ExternalQuery) -> bool {
    match &asked.answer {
        Ok(value) => value.to_string().contains(REDACTED),
        Err(message) => message.contains(REDACTED),
    }
}
