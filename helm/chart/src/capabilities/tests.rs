//! Kubernetes versions.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn versions_parse_as_in_kubernetes() {
    for (text, version, normalized) in
        [("1.25", "v1.25", "v1.25"), ("v1.33.4-gke.1", "v1.33.4-gke.1", "v1.33.4"), ("1.2.3+x", "v1.2.3+x", "v1.2.3")]
    {
        let read = KubeVersion::read(text).unwrap();
        assert_eq!((read.version.as_str(), read.normalized.as_str()), (version, normalized));
    }
    assert_eq!(KubeVersion::read("latest").unwrap_err().to_string(), "could not parse \"latest\" as version");
    assert_eq!(KubeVersion::read("1").unwrap_err().to_string(), "illegal version string \"1\"");
    assert!(Capabilities::default().api_versions.contains(&"apps/v1".to_string()));
}
