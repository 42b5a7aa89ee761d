//! Checks of the machine: state directory, listen address, sandbox and git.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use switchboard_engine::operator::NAME as ENGINE;
use switchboard_gitops::config::GitopsConfig;
use switchboard_kernel::config::Config;
use switchboard_kernel::journal::{DamagedSegment, Journal};
use switchboard_sandbox::Sandbox;

use super::report::{DoctorCheck, DoctorReport};
use crate::failure::message;
use crate::state_dir::StateDir;

/// Timeout of the sandbox's check.
const SANDBOX_TIMEOUT: Duration = Duration::from_secs(25);

/// Runs all checks of the machine.
pub async fn check(state: &StateDir, config: Option<&Config>, report: &mut DoctorReport) {
    let running = state.state().await.ok();
    match state.path() {
        Ok(path) => {
            state_directory(&path, config, running.is_some(), report);
        }
        Err(error) => report.add(DoctorCheck::failed("state directory", &message(&*error))),
    }
    if let Some(state) = &running {
        report.add(DoctorCheck::ok("kernel", format!("running with {} operators", state.operators.len())));
    }
    if let Some(address) = config.and_then(|config| config.listen).filter(|_| running.is_none()) {
        match std::net::TcpListener::bind(address) {
            Ok(_) => report.add(DoctorCheck::ok("listen", format!("{address} is free"))),
            Err(error) => report.add(DoctorCheck::error(
                "listen",
                format!("could not listen on {address}: {error}"),
                "change `listen` in the configuration; port 0 selects a free port",
            )),
        }
    }
    sandbox(config, report).await;
    git(config, report);
}

fn state_directory(path: &Path, config: Option<&Config>, running: bool, report: &mut DoctorReport) {
    let name = "state directory";
    let existing = nearest_existing(path);
    // Only a write shows whether writing works: modes, owners, quotas and read-only mounts all matter.
    if let Err(error) = tempfile::tempfile_in(&existing) {
        report.add(DoctorCheck::error(
            name,
            format!("could not write to {}: {error}", existing.display()),
            "check its owner and mode, or pass another directory with --state-dir DIR",
        ));
        return;
    }
    let suffix = if path.is_dir() { "" } else { ", will be created" };
    report.add(DoctorCheck::ok(name, format!("{}{suffix}", path.display())));
    disk_space(&existing, config, report);
    let journal = path.join("journal");
    // While a kernel writes, the last line may be incomplete.
    if running || !journal.is_dir() {
        return;
    }
    match Journal::read(&journal) {
        Ok(journal) => {
            for damage in DamagedSegment::of(journal.damage()) {
                let hint = "the readable part is used; remove the file to silence this warning";
                report.add(DoctorCheck::warning("journal", damage.to_string(), hint));
            }
        }
        Err(error) => report.add(DoctorCheck::failed("journal", &message(&error))),
    }
}

/// Returns the folder itself, or its nearest ancestor that exists.
fn nearest_existing(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or(path.to_path_buf());
    whole.ancestors().find(|folder| folder.exists()).map_or(whole.clone(), Path::to_path_buf)
}

/// Checks that the disk has room for the configured size of the journal.
fn disk_space(folder: &Path, config: Option<&Config>, report: &mut DoctorReport) {
    let (Ok(facts), Some(config)) = (rustix::fs::statvfs(folder), config) else { return };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if free < config.journal.max_bytes {
        report.add(DoctorCheck::warning(
            "disk",
            format!("{} MiB free, but the journal may use {} MiB", free >> 20, config.journal.max_bytes >> 20),
            "free disk space, or lower `journal.maxBytes`",
        ));
    }
}

async fn sandbox(config: Option<&Config>, report: &mut DoctorReport) {
    let confined = |config: &Config| {
        let programs = config.operators.values().filter(|one| one.enabled).filter_map(|one| one.process.as_ref());
        programs.filter(|program| program.sandbox).count()
    };
    let needed = config.map_or(0, confined);
    // The check waits for a launcher process, which must not block a thread of the runtime.
    let tried = tokio::task::spawn_blocking(|| -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let limits = switchboard_hosted::default_limits(SANDBOX_TIMEOUT);
        Sandbox::new(folder.path()).and_then(|sandbox| sandbox.check(limits)).map_err(|error| message(&error))
    });
    match tried.await.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(()) => report.add(DoctorCheck::ok("sandbox", "programs can run in a sandbox")),
        Err(error) if needed > 0 => report.add(DoctorCheck::failed("sandbox", &error)),
        Err(error) => {
            let check = DoctorCheck::failed("sandbox", &error);
            let hint = check.hint.unwrap_or_default();
            report.add(DoctorCheck::warning(
                "sandbox",
                format!("{}; this configuration does not need it", check.found),
                hint,
            ));
        }
    }
}

/// Checks that git is installed: the engine and the GitOps Service read repositories with it.
fn git(config: Option<&Config>, report: &mut DoctorReport) {
    let found = Command::new("git").arg("--version").output().ok().filter(|output| output.status.success());
    let version = found.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    report.add(git_check(version, &config.map(users_of_git).unwrap_or_default()));
}

fn git_check(version: Option<String>, users: &[&str]) -> DoctorCheck {
    let hint = "install git; repositories are read with it";
    match version {
        Some(version) => DoctorCheck::ok("git", version),
        None if users.is_empty() => {
            DoctorCheck::ok("git", "git is not installed, and this configuration does not need it")
        }
        None => DoctorCheck::error("git", format!("git is not installed, but needed by {}", users.join(", ")), hint),
    }
}

/// Returns the parts of a configuration that run git.
fn users_of_git(config: &Config) -> Vec<&'static str> {
    let engine = config.operators.iter().any(|(name, operator)| &*name.0 == ENGINE && operator.enabled);
    let gitops = config.section::<GitopsConfig>().is_some_and(|section| section.backend);
    let parts = [("`operators.engine`", engine), ("`gitops`", gitops)];
    parts.into_iter().filter(|(_, uses)| *uses).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::doctor::report::CheckState;
    use crate::families::FAMILIES;

    #[test]
    fn missing_git_is_an_error_for_what_needs_it() {
        let check = |text: &str| {
            let config = Config::parse("switchboard.yaml", text, FAMILIES).unwrap();
            git_check(None, &users_of_git(&config))
        };
        assert_eq!(check("operators: {greeter: {}}\n").state, CheckState::Ok);
        assert_eq!(check("operators: {engine: {enabled: false}}\n").state, CheckState::Ok);
        for (text, user) in
            [("operators: {engine: {}}\n", "`operators.engine`"), ("operators: {}\ngitops: {}\n", "`gitops`")]
        {
            let check = check(text);
            assert_eq!((check.state, check.found.ends_with(user)), (CheckState::Error, true), "{check:?}");
        }
    }
}
