//! Which addresses are of one repository.

const ENDING: &str = ".git";
const SSH: &str = "ssh";

/// The form by which two addresses of one repository are recognised: without `.git`, `git@host:path` as `ssh://git@host/path`, scheme
/// and host in lower case. It is its own form, and Argo CD takes it for the same repository.
///
/// Argo CD puts all of it into lower case, which makes another repository of one whose path has capitals, on hosts that tell them
/// apart; and it leaves `ssh://` out, after which a port cannot be told from the beginning of a path.
pub fn normalise(url: &str) -> String {
    let url = url.trim();
    let url = match url.strip_suffix(ENDING) {
        // Of one that ends so twice, the rest would be another one's.
        Some(stem) if !stem.ends_with(ENDING) => stem,
        _ => url,
    };
    match url.split_once("://") {
        Some((scheme, rest)) => format!("{}://{}", scheme.to_ascii_lowercase(), with_lower_host(rest, &['/'])),
        // git@host:path has no port: what follows the colon is the path.
        None if has_user(url) => {
            let rest = url.replacen(':', "/", 1);
            format!("{SSH}://{}", with_lower_host(&rest, &['/']))
        }
        None => with_lower_host(url, &['/', ':']),
    }
}

/// `git@host:path`, as Argo CD knows it: no second `@`, and neither path nor port before it.
fn has_user(url: &str) -> bool {
    url.rsplit_once('@').is_some_and(|(user, rest)| !rest.is_empty() && !user.contains(['/', ':']))
}

/// The host in lower case, which ends at one of these; who is in front of it, and what follows, as it is.
fn with_lower_host(text: &str, ends: &[char]) -> String {
    let end = text.find(ends).unwrap_or(text.len());
    let begin = text[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{}{}{}", &text[..begin], text[begin..end].to_ascii_lowercase(), &text[end..])
}
