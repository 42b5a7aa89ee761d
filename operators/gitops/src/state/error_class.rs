//! Classes of Argo CD's error messages, which have no code.

/// Class of an error, by what can end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The application, or the files in its repository, must be changed.
    Source,
    /// The repository does not exist, or its credential is missing or wrong.
    Access,
    /// A server is unreachable or overloaded; a retry may succeed.
    Unreachable,
    /// Any other error.
    Unknown,
}

/// Phrases of servers that are unreachable or overloaded. They are tested first: such an error may occur while a
/// repository is read or a manifest is generated.
const UNREACHABLE: [&str; 25] = [
    "code = unavailable",
    "code = deadlineexceeded",
    "code = resourceexhausted",
    "code = canceled",
    "connection refused",
    "connection reset",
    "connection timed out",
    "could not reach",
    "could not resolve host",
    "couldn't connect",
    "failed to connect",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "no route to host",
    "no such host",
    "i/o timeout",
    "timed out",
    "handshake timeout",
    "deadline exceeded",
    "unexpected disconnect",
    "hung up unexpectedly",
    ": eof",
    "returned error: 429",
    "returned error: 5",
];

/// Phrases about the repository or its credential.
const ACCESS: [&str; 14] = [
    "repository not found",
    "does not appear to be a git repository",
    "not a git repository",
    "authentication required",
    "authentication failed",
    "authorization failed",
    "unable to authenticate",
    "permission denied",
    "access denied",
    "invalid credentials",
    "could not read username",
    "host key",
    "knownhosts:",
    "returned error: 4",
];

/// Phrases about the revision, the path or the files.
const SOURCE: [&str; 21] = [
    "path does not exist",
    "path is absolute",
    "path outside root",
    "to a commit sha",
    "could not find commit",
    "couldn't find remote ref",
    "not our ref",
    "failed to unmarshal",
    "cannot unmarshal",
    "error converting yaml",
    "yaml: ",
    "error resolving helm",
    "failed parsing --set",
    "helm template",
    "execution error at",
    "parse error at",
    "template: ",
    "don't meet the specifications",
    "kustomize build",
    "exceed the limit of",
    "leads out of the repository",
];

impl ErrorClass {
    /// Classifies a message.
    pub fn of(message: &str) -> Self {
        let lower = message.to_ascii_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        if has(&UNREACHABLE) {
            Self::Unreachable
        } else if has(&ACCESS) {
            Self::Access
        } else if has(&SOURCE) {
            Self::Source
        } else {
            Self::Unknown
        }
    }

    /// Whether the error stays until a user acts.
    pub fn needs_user(self) -> bool {
        matches!(self, Self::Source | Self::Access)
    }
}

/// Returns the root cause of a gRPC error message: the text behind the last `desc = `.
pub fn root_cause(message: &str) -> &str {
    message.rsplit_once("desc = ").map_or(message, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of Argo CD 3.6 and of the embedded engine.
    #[test]
    fn messages_of_argo_cd_are_classified() {
        let load = "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = ";
        let cases = [
            ("Unknown desc = nope: app path does not exist", ErrorClass::Source),
            ("Unknown desc = unable to resolve 'nope' to a commit SHA", ErrorClass::Source),
            (
                "Unknown desc = Manifest generation error (cached): `helm template . --name-template web` failed exit status 1: Error: execution error at (web/templates/a.yaml:1:3): no",
                ErrorClass::Source,
            ),
            (
                "Unknown desc = Failed to unmarshal \"a.yaml\": failed to unmarshal manifest: error converting YAML to JSON: yaml: line 3",
                ErrorClass::Source,
            ),
            ("Unknown desc = failed to list refs: repository not found", ErrorClass::Access),
            (
                "Unknown desc = failed to list refs: repository not found: fatal: '/srv/nope' does not appear to be a git repository",
                ErrorClass::Access,
            ),
            ("Unknown desc = failed to list refs: authentication required: Repository not found.", ErrorClass::Access),
            (
                "Unknown desc = failed to list refs: dial tcp 10.0.0.1:443: connect: connection refused",
                ErrorClass::Unreachable,
            ),
            (
                "Unknown desc = failed to list refs: Get \"https://git.example/info/refs\": dial tcp: lookup git.example: no such host",
                ErrorClass::Unreachable,
            ),
            (
                "Unknown desc = failed to list refs: could not reach the repository server: fatal: unable to access 'https://git.example/': Could not resolve host: git.example",
                ErrorClass::Unreachable,
            ),
            ("Unavailable desc = connection error: desc = \"transport: Error while dialing\"", ErrorClass::Unreachable),
            ("DeadlineExceeded desc = context deadline exceeded", ErrorClass::Unreachable),
        ];
        for (said, class) in cases {
            assert_eq!(ErrorClass::of(&format!("{load}{said}")), class, "{said}");
        }
        assert_eq!(ErrorClass::of("no"), ErrorClass::Unknown);
        let cluster = "error getting cluster by server \"https://h\": rpc error: code = NotFound desc = cluster \"https://h\" not found";
        assert_eq!(ErrorClass::of(cluster), ErrorClass::Unknown, "the agent may still create it");
    }

    #[test]
    fn root_cause_is_behind_the_last_description() {
        let chain =
            "Failed to load target state: rpc error: code = Unknown desc = no-such-folder: app path does not exist";
        assert_eq!(root_cause(chain), "no-such-folder: app path does not exist");
        assert_eq!(root_cause("back-off restarting failed container"), "back-off restarting failed container");
    }
}
