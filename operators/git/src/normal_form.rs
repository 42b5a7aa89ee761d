//! Normal form of repository addresses.

const ENDING: &str = ".git";
const SSH: &str = "ssh";

/// Returns the form in which two addresses of one repository are equal: without `.git`, with `git@host:path` as
/// `ssh://git@host/path`, and with scheme and host in lower case. The normal form is its own normal form, and Argo CD
/// resolves it to the same repository.
///
/// Argo CD's own normalization converts the whole address to lower case, which names a different repository on hosts
/// with case-sensitive paths. It also removes `ssh://`, so that a port cannot be distinguished from the beginning of a
/// path.
pub fn normalize(url: &str) -> String {
    let url = url.trim();
    let url = match url.strip_suffix(ENDING) {
        // If the name ends in `.git.git`, the shorter name is another repository.
        Some(stem) if !stem.ends_with(ENDING) => stem,
        _ => url,
    };
    match url.split_once("://") {
        Some((scheme, rest)) => format!("{}://{}", scheme.to_ascii_lowercase(), with_lower_host(rest, &['/'])),
        // `git@host:path` has no port: the path follows the colon.
        None if has_user(url) => {
            let rest = url.replacen(':', "/", 1);
            format!("{SSH}://{}", with_lower_host(&rest, &['/']))
        }
        None => with_lower_host(url, &['/', ':']),
    }
}

/// Whether the text is `git@host:path` by Argo CD's rule: no second `@`, and neither a path nor a port before it.
fn has_user(url: &str) -> bool {
    url.rsplit_once('@').is_some_and(|(user, rest)| !rest.is_empty() && !user.contains(['/', ':']))
}

/// Converts the host to lower case. The host ends at one of `ends`; the user before it and the rest behind it are kept.
fn with_lower_host(text: &str, ends: &[char]) -> String {
    let end = text.find(ends).unwrap_or(text.len());
    let begin = text[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{}{}{}", &text[..begin], text[begin..end].to_ascii_lowercase(), &text[end..])
}
