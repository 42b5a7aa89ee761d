//! Kubernetes release of the server.

use serde_json::json;
use switchboard_object::Value;

/// Release whose behavior is reproduced.
pub const GIT_VERSION: &str = "v1.36.1";
/// Major and minor, as OpenAPI documents state them.
pub const MAJOR_MINOR: &str = "1.36";

/// Returns `/version`.
pub fn document() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": "linux/amd64",
    })
}
