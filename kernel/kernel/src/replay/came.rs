//! What a run came to, in a form in which two can be compared.

use serde::{Deserialize, Serialize};

use crate::decision::Outcome;
use crate::operator::OperatorName;
use crate::plan::{Expect, Mutation, Standing};
use crate::redact::{HIDDEN, conceal_mutation, conceal_words};
use crate::resource::TableKey;
use crate::view::Asked;

/// What a run came to, without what the kernel made of it: in order of the objects, and without the preconditions that
/// the arbiter fills in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Came {
    /// To a plan.
    Decided {
        /// The writes, by object.
        mutations: Vec<Mutation>,
        /// Where the unit stands.
        standing: Standing,
    },
    /// To an error.
    Failed {
        /// In its words.
        message: String,
    },
    /// To a kind that was not known.
    Parked {
        /// Which.
        missing: Vec<TableKey>,
    },
}

impl Came {
    /// What a recorded run came to.
    pub fn of(operator: &OperatorName, outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Decided { writes, standing } => {
                let mutations = writes.iter().map(|write| write.mutation.clone()).collect();
                Self::decided(operator, mutations, standing.clone())
            }
            Outcome::Failed { message } => Self::Failed { message: message.clone() },
            Outcome::Parked { missing } => Self::Parked { missing: missing.clone() },
        }
    }

    /// The same as the journal keeps it: without the values of Secrets, and without what looks like one.
    #[must_use]
    pub fn masked(self) -> Self {
        match self {
            Self::Decided { mutations, standing } => {
                Self::Decided { mutations: mutations.iter().map(conceal_mutation).collect(), standing }
            }
            other => other,
        }
        .spoken()
    }

    /// The same as the kernel says it: without what looks like a secret in its words.
    #[must_use]
    pub fn spoken(self) -> Self {
        match self {
            Self::Decided { mutations, standing } => {
                Self::Decided { mutations, standing: standing.in_words(&conceal_words) }
            }
            Self::Failed { message } => Self::Failed { message: conceal_words(&message) },
            Self::Parked { missing } => Self::Parked { missing },
        }
    }

    /// As bytes; the same for the same.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // Serialising these types to memory cannot fail: no map has keys that are not text.
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn decided(operator: &OperatorName, mut mutations: Vec<Mutation>, standing: Standing) -> Self {
        for mutation in &mut mutations {
            if matches!(mutation.expect, Expect::Exactly { .. }) {
                mutation.expect = Expect::Seen;
            }
            if mutation.field_manager.as_deref() == Some(&operator.0) {
                mutation.field_manager = None;
            }
        }
        // Writes to one object stay in their order: the sort keeps it.
        let by = |m: &Mutation| {
            (m.place, m.resource.clone(), m.namespace.clone(), m.name.clone(), m.subresource.clone(), m.verb())
        };
        mutations.sort_by_cached_key(by);
        Self::Decided { mutations, standing }
    }
}

/// Whether something in an answer is masked.
pub(super) fn holds_mask(asked: &Asked) -> bool {
    match &asked.answer {
        Ok(value) => value.to_string().contains(HIDDEN),
        Err(message) => message.contains(HIDDEN),
    }
}
