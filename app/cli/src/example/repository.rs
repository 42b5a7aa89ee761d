//! Git repository of the example `gitops`, created from files in this binary so that nothing is fetched.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use switchboard_git::GitError;

use crate::failure::CommandError;

/// Files of the repository, by name.
const FILES: [(&str, &str); 5] = [
    ("guestbook/pages.yaml", include_str!("../../../../examples/gitops/repository/guestbook/pages.yaml")),
    ("guestbook/service.yaml", include_str!("../../../../examples/gitops/repository/guestbook/service.yaml")),
    ("greeting/Chart.yaml", include_str!("../../../../examples/gitops/repository/greeting/Chart.yaml")),
    ("greeting/values.yaml", include_str!("../../../../examples/gitops/repository/greeting/values.yaml")),
    (
        "greeting/templates/configmap.yaml",
        include_str!("../../../../examples/gitops/repository/greeting/templates/configmap.yaml"),
    ),
];

/// Creates the repository in a folder and returns its URL. An existing repository is kept: the user may have changed
/// it.
pub fn make(folder: &Path) -> Result<String, CommandError> {
    let folder = std::path::absolute(folder)?;
    if !folder.join(".git").exists() {
        for (name, text) in FILES {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap_or(&folder))?;
            fs::write(file, text)?;
        }
        git(&folder, &["init", "--quiet", "--initial-branch=main"])?;
        git(&folder, &["add", "--all"])?;
        git(&folder, &["commit", "--quiet", "--message", "An application"])?;
    }
    Ok(format!("file://{}", folder.display()))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<(), CommandError> {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=Switchboard",
        "-c",
        "user.email=example@switchboard.invalid",
        "-c",
        "commit.gpgsign=false",
    ]);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(GitError::NoGit.into()),
        output => output?,
    };
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "could not create the example's repository: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )
        .into()),
    }
}
