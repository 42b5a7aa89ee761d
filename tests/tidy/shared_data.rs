//! Data of other projects beside the checkout: a clone has none, so no test may demand it by itself.

use std::path::Path;

use switchboard_suite::shared_data::available;

use crate::{is_test, none, root, rust_files};

/// The only file that knows where the data is.
const FINDER: &str = "tests/suite/shared_data.rs";

#[test]
fn data_beside_the_checkout_is_found_by_one_function() {
    // Put together here so that this file does not find itself.
    let place = concat!("shared", "/data");
    let other = rust_files().filter(|(path, text)| {
        is_test(path) && !path.starts_with("benches") && path != Path::new(FINDER) && text.contains(place)
    });
    none(
        other.map(|(path, _)| path.display().to_string()).collect(),
        "use shared_data(): only .ci/run may demand data",
    );
}

#[test]
fn missing_data_is_an_error_only_if_demanded() {
    assert_eq!(available(root().into(), false), Some(root().into()));
    assert_eq!(available(root().join("none"), false), None);
    assert!(std::panic::catch_unwind(|| available(root().join("none"), true)).is_err());
}
