//! `junit.xml`, byte for byte as Go's encoder writes the test suite of multi-operator-manager.

use std::fmt::Write as _;

/// Result of one test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JunitCase {
    /// Name.
    pub name: String,
    /// Duration in whole seconds.
    pub seconds: u64,
    /// Failure, or `None` if the test passed.
    pub failure: Option<JunitFailure>,
    /// Standard output of the program, if reported.
    pub system_out: String,
    /// Standard error of the program, if reported.
    pub system_err: String,
}

/// Failure of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JunitFailure {
    /// Summary.
    pub message: String,
    /// Details.
    pub output: String,
}

/// Returns the XML document of a test suite. multi-operator-manager leaves its counters at zero; `counted` fills them.
pub fn junit(cases: &[JunitCase], counted: bool) -> String {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let seconds: u64 = cases.iter().map(|case| case.seconds).sum();
    let (tests, failures, seconds) = if counted { (cases.len(), failures, seconds) } else { (0, 0, 0) };
    let mut xml = format!(r#"<testsuite name="" tests="{tests}" skipped="0" failures="{failures}" time="{seconds}">"#);
    for case in cases {
        let _ = write!(xml, "\n    <testcase name=\"{}\" time=\"{}\">", escaped(&case.name), case.seconds);
        let mut children = 0;
        let mut child = |open: &str, text: &str, close: &str| {
            let _ = write!(xml, "\n        <{open}>{}</{close}>", escaped(text));
            children += 1;
        };
        if let Some(failure) = &case.failure {
            child(&format!("failure message=\"{}\"", escaped(&failure.message)), &failure.output, "failure");
        }
        for (name, text) in [("system-out", &case.system_out), ("system-err", &case.system_err)] {
            if !text.is_empty() {
                child(name, text, name);
            }
        }
        xml.push_str(if children > 0 { "\n    </testcase>" } else { "</testcase>" });
    }
    xml.push_str(if cases.is_empty() { "</testsuite>" } else { "\n</testsuite>" });
    xml
}

/// Escapes text like Go: line ends and tabs become character references, and characters that XML does not allow become
/// U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' => out.push_str("&#x9;"),
            '\n' => out.push_str("&#xA;"),
            '\r' => out.push_str("&#xD;"),
            '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from Go's xml.MarshalIndent with the types of multi-operator-manager.
    const RECORDED: &str = r#"<testsuite name="" tests="0" skipped="0" failures="0" time="0">
    <testcase name="remove output directory" time="0"></testcase>
    <testcase name="a [Binary:&#34;./web&#34;]" time="2">
        <failure message="1 &lt; 2&#xA;">it&#39;s &amp; so&#x9;on</failure>
        <system-out>out</system-out>
        <system-err>err</system-err>
    </testcase>
</testsuite>"#;

    #[test]
    fn document_matches_multi_operator_manager() {
        let failure = JunitFailure { message: "1 < 2\n".into(), output: "it's & so\ton".into() };
        let cases = [
            JunitCase { name: "remove output directory".into(), ..JunitCase::default() },
            JunitCase {
                name: "a [Binary:\"./web\"]".into(),
                seconds: 2,
                failure: Some(failure),
                system_out: "out".into(),
                system_err: "err".into(),
            },
        ];
        assert_eq!(junit(&cases, false), RECORDED);
        assert!(junit(&cases, true).starts_with(r#"<testsuite name="" tests="2" skipped="0" failures="1" time="2">"#));
        let empty = r#"<testsuite name="" tests="0" skipped="0" failures="0" time="0"></testsuite>"#;
        assert_eq!(junit(&[], false), empty);
    }

    #[test]
    fn characters_not_allowed_in_xml_are_replaced() {
        assert_eq!(escaped("a\u{1}b\u{ffff}"), "a\u{fffd}b\u{fffd}");
    }
}
