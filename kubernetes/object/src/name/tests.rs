use super::*;

const LABEL_ERROR: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_ERROR: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY_ERROR: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn labels() {
    for good in ["a", "0", "a-b", "1-2-3", &"a".repeat(63)] {
        assert_eq!(dns1123_label(good), none(), "{good}");
    }
    for bad in ["", "A", "-a", "a-", "a_b", "a b", "ä"] {
        assert_eq!(dns1123_label(bad), [LABEL_ERROR], "{bad}");
    }
    assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
    assert_eq!(dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
}

#[test]
fn subdomains() {
    for good in ["a", "a.b", "0.1", "a-b.c-d"] {
        assert_eq!(dns1123_subdomain(good), none(), "{good}");
    }
    for bad in ["", ".", "a.", ".a", "a..b", "A.b", "a.-b"] {
        assert_eq!(dns1123_subdomain(bad), [SUBDOMAIN_ERROR], "{bad}");
    }
    assert_eq!(dns1123_subdomain(&"a".repeat(254)), ["must be no more than 253 characters"]);
    assert_eq!(wildcard_dns1123_subdomain("*.bar.com"), none());
    assert_eq!(wildcard_dns1123_subdomain("*.*.bar.com").len(), 1);
}

#[test]
fn labels_of_rfc_1035_do_not_begin_with_a_digit() {
    assert_eq!(dns1035_label("a1"), none());
    assert_eq!(
        dns1035_label("1a"),
        [
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
}

#[test]
fn qualified_names() {
    for good in ["simple", "a.b/c_D", "1.2.3.4/5678", &format!("{}/{}", "a".repeat(253), "b".repeat(63))] {
        assert_eq!(qualified_name(good), none(), "{good}");
    }
    assert_eq!(qualified_name("a b"), [KEY_ERROR]);
    assert_eq!(qualified_name(""), ["name part must be non-empty", KEY_ERROR]);
    assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
    assert_eq!(qualified_name("A/a"), [format!("prefix part {SUBDOMAIN_ERROR}")]);
    assert_eq!(qualified_name(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
    assert!(qualified_name("a/b/c")[0].starts_with("a valid label key must consist of"));
    assert!(
        qualified_name("a/b/c")[0]
            .ends_with("with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")
    );
}

#[test]
fn label_values() {
    for good in ["", "a", "A_b.C-d", "1234"] {
        assert_eq!(label_value(good), none(), "{good}");
    }
    assert_eq!(
        label_value("a b"),
        [
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ]
    );
    assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
}

#[test]
fn other_names() {
    assert_eq!(path_segment("system:admin"), none());
    assert_eq!(path_segment(".."), ["may not be '..'"]);
    assert_eq!(path_segment("a/b%"), ["may not contain '/'", "may not contain '%'"]);
    assert_eq!(path_segment_prefix("."), none());
    assert_eq!(port_name("http-2"), none());
    assert_eq!(port_name("80"), ["must contain at least one letter (a-z)"]);
    assert_eq!(port_name("-a").len(), 1);
    assert_eq!(percent("25%"), none());
    assert_eq!(percent("25").len(), 1);
    assert_eq!(env_var_name("a b"), none());
    assert_eq!(env_var_name("a=b").len(), 1);
    assert_eq!(config_key("a.b_C-d"), none());
    assert_eq!(config_key(".."), ["must not be '..'"]);
    assert_eq!(config_key("..a"), ["must not start with '..'"]);
    assert_eq!(c_identifier("_a1"), none());
    assert_eq!(c_identifier("1a").len(), 1);
    assert_eq!(http_header_name("X-A"), none());
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
}
