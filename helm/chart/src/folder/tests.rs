//! Folders: order, links, limits.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = top.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    top
}

fn names(top: &Path, links: SymlinkPolicy) -> Vec<String> {
    read_folder(top, links).unwrap().into_iter().map(|file| file.name).collect()
}

#[test]
fn files_are_sorted_by_name() {
    let top = folder(&[
        ("b.txt", ""),
        ("a/z", ""),
        ("a/y", ""),
        (".helmignore", "*.bak"),
        ("x.bak", ""),
        ("templates/.h", ""),
    ]);
    assert_eq!(names(top.path(), SymlinkPolicy::Inside), [".helmignore", "a/y", "a/z", "b.txt"]);
}

#[test]
fn links_inside_the_chart_are_followed() {
    let top = folder(&[("real/a.txt", "text")]);
    symlink("real", top.path().join("alias")).unwrap();
    symlink("real/a.txt", top.path().join("file.txt")).unwrap();
    assert_eq!(names(top.path(), SymlinkPolicy::Inside), ["alias/a.txt", "file.txt", "real/a.txt"]);
}

#[test]
fn links_out_of_the_chart_are_rejected_unless_allowed() {
    let (top, outside) = (folder(&[("Chart.yaml", "")]), folder(&[("secret", "text")]));
    symlink(outside.path().join("secret"), top.path().join("stolen")).unwrap();
    let error = read_folder(top.path(), SymlinkPolicy::Inside).unwrap_err().to_string();
    assert!(error.contains("leads out of the chart"), "{error}");
    assert_eq!(names(top.path(), SymlinkPolicy::Anywhere), ["Chart.yaml", "stolen"]);
}

#[test]
fn links_that_lead_back_up_end() {
    let top = folder(&[("a/b.txt", "")]);
    symlink("..", top.path().join("a/up")).unwrap();
    let error = read_folder(top.path(), SymlinkPolicy::Anywhere).unwrap_err().to_string();
    assert!(error.contains("endless"), "{error}");
    let loops = folder(&[]);
    symlink("x", loops.path().join("x")).unwrap();
    assert!(matches!(read_folder(loops.path(), SymlinkPolicy::Anywhere), Err(FolderError::Dangling { .. })));
}

#[test]
fn special_and_large_files_are_rejected() {
    let top = folder(&[]);
    let large = fs::File::create(top.path().join("large")).unwrap();
    large.set_len(MAX_FILE_BYTES + 1).unwrap();
    let error = read_folder(top.path(), SymlinkPolicy::Inside).unwrap_err().to_string();
    assert_eq!(error, "chart file \"large\" is larger than the maximum file size 5242880");
    let socket = folder(&[]);
    let _listening = std::os::unix::net::UnixListener::bind(socket.path().join("s")).unwrap();
    assert!(matches!(read_folder(socket.path(), SymlinkPolicy::Inside), Err(FolderError::Irregular(_))));
}

#[test]
fn read_file_follows_the_same_rules() {
    let secret = folder(&[("secret", "apiVersion: v2\nname: stolen\nversion: 1.0.0\n")]);
    for name in [ignore::FILE_NAME, "Chart.yaml"] {
        let first = |top: &Path, links| match name {
            "Chart.yaml" => crate::chart::Chart::load(top, links).map(|_| ()).map_err(|error| error.to_string()),
            _ => read_folder(top, links).map(|_| ()).map_err(|error| error.to_string()),
        };
        let top = folder(&[]);
        symlink("/dev/zero", top.path().join(name)).unwrap();
        let error = first(top.path(), SymlinkPolicy::Anywhere).unwrap_err();
        assert!(error.contains("cannot load irregular file"), "{name}: {error}");
        let error = first(top.path(), SymlinkPolicy::Inside).unwrap_err();
        assert!(error.contains("leads out of the chart"), "{name}: {error}");

        let top = folder(&[]);
        symlink(secret.path().join("secret"), top.path().join(name)).unwrap();
        let error = first(top.path(), SymlinkPolicy::Inside).unwrap_err();
        assert!(error.contains("leads out of the chart"), "{name}: {error}");
        first(top.path(), SymlinkPolicy::Anywhere).unwrap();

        let top = folder(&[]);
        let made = std::process::Command::new("mkfifo").arg(top.path().join(name)).status().unwrap();
        assert!(made.success());
        let error = first(top.path(), SymlinkPolicy::Inside).unwrap_err();
        assert!(error.contains("cannot load irregular file"), "{name}: {error}");

        let top = folder(&[]);
        fs::File::create(top.path().join(name)).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let error = first(top.path(), SymlinkPolicy::Inside).unwrap_err();
        assert!(error.contains("is larger than the maximum file size 5242880"), "{name}: {error}");
    }
}

#[test]
fn links_that_fan_out_end() {
    let top = folder(&[("d30/a.txt", "")]);
    for level in 0..30 {
        let here = top.path().join(format!("d{level}"));
        fs::create_dir_all(&here).unwrap();
        symlink(format!("../d{}", level + 1), here.join("x")).unwrap();
        symlink(format!("../d{}", level + 1), here.join("y")).unwrap();
    }
    assert!(matches!(read_folder(top.path(), SymlinkPolicy::Inside), Err(FolderError::TooLarge(_))));
}
