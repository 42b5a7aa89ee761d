//! What is asked of clusters, and what comes of it.

use switchboard_ledger::Secret;
use switchboard_ledger::ids::ServiceAccountId;
use switchboard_ledger::rows::left::ServiceAccount;

use crate::flow::recheck::Asking;
use crate::kinds::environment::Reason;
use crate::kubeconfig::Access;

/// What is to be asked of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Do these work? With `install`, a service account of ours is made first, and its token is the answer.
    Verify {
        /// Of what this was taken; it comes back with the answer.
        digest: String,
        /// In the names of what is made there.
        uid: String,
        /// The URL.
        host: String,
        /// As whom.
        access: Access,
        /// Whether the server is not checked.
        allow_insecure: bool,
        /// The namespace to look at; none is the list of all.
        namespace: Option<String>,
        /// Whether a service account of ours is to be made.
        install: bool,
    },
    /// Remove a service account of ours and its role.
    Retire {
        /// Which, and how its cluster is reached.
        account: ServiceAccount,
    },
}

/// What is to be asked. Neither waits for the other: a cluster that is gone keeps no other from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questions {
    /// Whether credentials work.
    pub verify: Asking<Question>,
    /// That a service account goes.
    pub retire: Option<Question>,
}

impl Default for Questions {
    fn default() -> Self {
        Questions { verify: Asking::Nothing, retire: None }
    }
}

impl Answer {
    /// Of what was asked whether credentials work.
    pub fn digest(&self) -> Option<&str> {
        match self {
            Answer::Verified { digest, .. } | Answer::Refused { digest, .. } => Some(digest),
            Answer::Retired { .. } | Answer::Kept { .. } => None,
        }
    }
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// They work. With it comes the token of the service account that was made.
    Verified {
        /// Of what was asked.
        digest: String,
        /// That token.
        token: Option<Secret>,
    },
    /// They do not.
    Refused {
        /// Of what was asked.
        digest: String,
        /// In a word.
        reason: Reason,
        /// In more words.
        message: String,
        /// The token of the service account that was made all the same: with it the account can be removed.
        token: Option<Secret>,
    },
    /// The service account is gone, or the cluster takes not even its own token any more.
    Retired {
        /// Which.
        account: ServiceAccountId,
    },
    /// It is there yet, or nobody can tell.
    Kept {
        /// Which.
        account: ServiceAccountId,
    },
}
