use kube::CustomResourceExt;

use super::*;

/// `UPDATE=1 cargo test` writes the file.
#[test]
fn the_file_has_the_definition_of_the_kind() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/crd.json");
    let definition = serde_json::to_string_pretty(&DnsRecord::crd()).expect("a definition has a JSON form") + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, &definition).expect("the file can be written");
    }
    assert_eq!(std::fs::read_to_string(file).expect("the file exists"), definition);
}
