//! The example is what others copy: nothing may be wrong with it.

use switchboard_integrations::lint::lint;
use switchboard_integrations::meta::Meta;

use crate::example::{from_bundle, from_directory, from_server};

#[test]
fn the_example_has_no_findings_from_any_source() {
    for (source, bundle) in [("directory", from_directory()), ("bundle", from_bundle())] {
        let told: Vec<String> = lint(&bundle, &Meta::default()).iter().map(ToString::to_string).collect();
        assert_eq!(told, Vec::<String>::new(), "{source}");
    }
    // A server does not give out what is for people alone.
    let missing = |finding: &&switchboard_integrations::lint::Finding| {
        !finding.problem.message.contains("app-interface asks for")
    };
    let told: Vec<String> =
        lint(&from_server(), &Meta::default()).iter().filter(missing).map(ToString::to_string).collect();
    assert_eq!(told, Vec::<String>::new(), "server");
}
