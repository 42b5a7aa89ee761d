//! Causes of an error, as values and as text.

/// Iterates over an error and its causes, from outside to inside.
pub fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    // Without the trait in scope, `source` is that of the cause and not that of the reference to it.
    std::iter::successors(Some(error), |cause| cause.source())
}

/// Returns the message of an error and those of its causes, separated by colons.
///
/// ```
/// use switchboard_object::causes::error_chain;
///
/// let error = std::io::Error::other("disk is full");
/// assert_eq!(error_chain(&error), "disk is full");
/// ```
pub fn error_chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Returns the message of the innermost cause, or of the error itself if it has none.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let innermost = std::iter::successors(error.source(), |cause| cause.source()).last();
    innermost.map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    #[error("could not read the file")]
    struct Outer(#[source] Inner);

    #[derive(Debug, Error)]
    #[error("could not open a.yaml")]
    struct Inner(#[source] std::io::Error);

    fn nested() -> Outer {
        Outer(Inner(std::io::Error::other("disk is full")))
    }

    #[test]
    fn causes_follow_from_outside_to_inside() {
        assert_eq!(error_chain(&nested()), "could not read the file: could not open a.yaml: disk is full");
        assert_eq!(error_chain(&std::fmt::Error), std::fmt::Error.to_string());
    }

    #[test]
    fn causes_include_the_error_itself() {
        let found: Vec<String> = causes(&nested()).map(ToString::to_string).collect();
        assert_eq!(found, ["could not read the file", "could not open a.yaml", "disk is full"]);
    }

    #[test]
    fn the_root_cause_is_the_innermost() {
        assert_eq!(root_cause(&nested()), "disk is full");
        assert_eq!(root_cause(&std::fmt::Error), std::fmt::Error.to_string());
    }
}
