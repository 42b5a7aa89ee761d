//! The machine: the state directory, the port, the sandbox, the programs that are called.

use std::path::{Path, PathBuf};
use std::process::Command;

use switchboard_kernel::config::Config;
use switchboard_kernel::journal::{DamagedSegment, Journal};
use switchboard_sandbox::Sandbox;

use super::report::{Check, Report};
use crate::failure::tell;
use crate::kernel::StateDir;

/// Looks at all of it.
pub async fn check(state: &StateDir, config: Option<&Config>, report: &mut Report) {
    let running = state.state().await.ok();
    match state.path() {
        Ok(path) => {
            state_directory(&path, config, running.is_some(), report);
        }
        Err(error) => report.add(Check::failed("state directory", &tell(&*error))),
    }
    if let Some(state) = &running {
        report.add(Check::ok("kernel", format!("runs and hosts {} operators", state.operators.len())));
    }
    if let Some(address) = config.and_then(|config| config.listen).filter(|_| running.is_none()) {
        match std::net::TcpListener::bind(address) {
            Ok(_) => report.add(Check::ok("listen", format!("{address} is free"))),
            Err(error) => report.add(Check::wrong(
                "listen",
                format!("could not listen on {address}: {error}"),
                "`listen` in the configuration says where; port 0 takes any free one",
            )),
        }
    }
    sandbox(config, report).await;
    git(config, report);
}

fn state_directory(path: &Path, config: Option<&Config>, running: bool, report: &mut Report) {
    let name = "state directory";
    let there = nearest(path);
    // Only a try tells: modes, owners, quotas and read-only mounts all have a say.
    if let Err(error) = tempfile::tempfile_in(&there) {
        report.add(Check::wrong(
            name,
            format!("could not write in {}: {error}", there.display()),
            "check who owns it, or give another one with --state-dir DIR",
        ));
        return;
    }
    let made = if path.is_dir() { "" } else { ", which will be made" };
    report.add(Check::ok(name, format!("{}{made}", path.display())));
    room(&there, config, report);
    let journal = path.join("journal");
    // While somebody writes, the last line may be half there.
    if running || !journal.is_dir() {
        return;
    }
    match Journal::read(&journal) {
        Ok(journal) => {
            for damage in DamagedSegment::of(journal.damage()) {
                let hint = "what is left of it is used; remove the file to be told no more";
                report.add(Check::warning("journal", damage.to_string(), hint));
            }
        }
        Err(error) => report.add(Check::failed("journal", &tell(&error))),
    }
}

/// The folder itself, or the nearest one above it that is there.
fn nearest(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or(path.to_path_buf());
    whole.ancestors().find(|folder| folder.exists()).map_or(whole.clone(), Path::to_path_buf)
}

/// Whether the journal has the room it may take.
fn room(folder: &Path, config: Option<&Config>, report: &mut Report) {
    let (Ok(facts), Some(config)) = (rustix::fs::statvfs(folder), config) else { return };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    if free < config.journal.max_bytes {
        report.add(Check::warning(
            "disk",
            format!("{} MiB are free, and the journal may take {} MiB", free >> 20, config.journal.max_bytes >> 20),
            "make room, or lower `journal.maxBytes`",
        ));
    }
}

async fn sandbox(config: Option<&Config>, report: &mut Report) {
    let confined = |config: &Config| {
        let programs = config.operators.values().filter(|one| one.enabled).filter_map(|one| one.process.as_ref());
        programs.filter(|program| program.sandbox).count()
    };
    let needed = config.map_or(0, confined);
    // A launcher is waited for, which the runtime's own threads must not do.
    let tried = tokio::task::spawn_blocking(|| -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        Sandbox::new(folder.path()).and_then(|sandbox| sandbox.check()).map_err(|error| tell(&error))
    });
    match tried.await.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(()) => report.add(Check::ok("sandbox", "programs can be confined")),
        Err(told) if needed > 0 => report.add(Check::failed("sandbox", &told)),
        Err(told) => {
            let check = Check::failed("sandbox", &told);
            let hint = check.hint.unwrap_or_default();
            report.add(Check::warning("sandbox", format!("{}; nothing here needs it", check.found), hint));
        }
    }
}

/// Integrations read commits, and deployments come from repositories.
fn git(config: Option<&Config>, report: &mut Report) {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            report.add(Check::ok("git", String::from_utf8_lossy(&output.stdout).trim().to_string()));
        }
        _ => {
            let used =
                if config.is_some_and(|config| config.integrations.is_some()) { "" } else { "; nothing here needs it" };
            let hint =
                "install git: sources over ssh and file paths, and `git:REV` on the command line, are read with it";
            report.add(Check::warning("git", format!("there is no program git{used}"), hint));
        }
    }
}
