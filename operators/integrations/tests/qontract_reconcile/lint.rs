//! The example must have no findings, because users copy it.

use switchboard_integrations::lint::lint;
use switchboard_integrations::meta::IntegrationMeta;

use crate::example::{from_bundle, from_directory, from_server};

#[test]
fn the_example_has_no_findings_from_any_source() {
    for (source, bundle) in [("directory", from_directory()), ("bundle", from_bundle()), ("server", from_server())] {
        let told: Vec<String> = lint(&bundle, &IntegrationMeta::default()).iter().map(ToString::to_string).collect();
        assert_eq!(told, Vec::<String>::new(), "{source}");
    }
}
