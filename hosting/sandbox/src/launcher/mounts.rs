//! Table of mounts.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the mounts below a folder, without the one on the folder itself. A bind mount includes them with their old
/// flags.
pub(super) fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(mount_point)
        .filter(|at| at != folder && at.starts_with(folder))
        .collect())
}

/// Returns the mount point of a line.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let mut name = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        // Spaces, tabs, line breaks and backslashes are escaped as three octal digits.
        let digits = behind.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        name.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &behind[3..] } else { behind };
    }
    Some(PathBuf::from(OsString::from_vec(name))).filter(|path| !path.as_os_str().as_bytes().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_read_with_its_spaces() {
        let line = br"36 35 98:0 /mnt1 /a\040b/c\134d rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        assert_eq!(mount_point(line), Some(PathBuf::from(r"/a b/c\d")));
        assert_eq!(mount_point(b""), None);
    }
}
