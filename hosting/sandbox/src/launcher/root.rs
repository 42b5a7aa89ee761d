//! Root file system of a program: the system's programs and libraries, the program itself and its input, all read-only,
//! and a small writable file system in memory.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatvfs, open, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::{mounts, require, try_step};
use crate::job::{INPUT, KUBECONFIG, OUTPUT, SCRATCH};
use crate::wire::{LaunchSpec, LauncherMessage};

/// Maximum number of files and folders that a program may create.
const MAX_FILES: u64 = 20_000;
/// Folders of programs and libraries. A link to another of them stays a link.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// System configuration that programs need: certificates, library paths, time zone.
const CONFIGURATION: [&str; 9] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/pki",
    "/etc/ssl",
];
const DEVICES: [&str; 4] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom"];
/// `/dev/full` reads like `/dev/zero`, but a mapping of `/dev/zero` would be memory that is not counted.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/zero", "/dev/full"),
];
const FILES: [(&str, &str); 4] = [
    ("/etc/group", "root:x:0:\nnobody:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("/etc/nsswitch.conf", "hosts: files dns\n"),
    ("/etc/passwd", "root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n"),
];
const WORK: &str = "/switchboard/out";

/// Source of a bind mount, held open so that a later mount cannot hide it.
struct BindSource {
    file: OwnedFd,
    at: PathBuf,
    folder: bool,
}

/// Builds the root and moves into it.
pub(super) fn enter(spec: &LaunchSpec) -> Result<(), LauncherMessage> {
    try_step(
        "make the host's mounts private",
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC),
    )?;
    let sources = sources(spec)?;
    let devices: Vec<BindSource> =
        DEVICES.iter().filter_map(|device| BindSource::open(Path::new(device), device)).collect();
    let root = spec.root.as_path();
    mount_tmpfs(root, "size=4m,nr_inodes=4096,mode=0755")?;
    populate(root, spec)?;
    for device in &devices {
        device.bind(root)?;
    }
    for source in &sources {
        source.bind(root)?;
        source.make_read_only(root)?;
    }
    let proc = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    require("/proc cannot be mounted in a process namespace", mount("proc", root.join("proc"), "proc", proc, None))?;
    let unwritable = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    try_step("make the root read-only", mount_remount(root, unwritable, c""))?;
    try_step("enter the root", chdir(root))?;
    // The old root is now mounted over the new one, and is unmounted.
    try_step("change the root", pivot_root(".", "."))?;
    try_step("unmount the old root", unmount(".", UnmountFlags::DETACH))?;
    try_step("enter the root", chdir("/"))
}

fn sources(spec: &LaunchSpec) -> Result<Vec<BindSource>, LauncherMessage> {
    let system = SYSTEM.iter().filter(|path| !Path::new(path).is_symlink());
    let mut sources: Vec<BindSource> =
        system.chain(&CONFIGURATION).filter_map(|path| BindSource::open(Path::new(path), path)).collect();
    let covered = |path: &Path| SYSTEM.iter().any(|system| path.starts_with(system));
    // Parent folders come first; otherwise their mounts would hide the nested ones.
    let requested: BTreeSet<&PathBuf> = spec.readable.iter().chain([&spec.program]).collect();
    for path in requested.into_iter().filter(|path| !covered(path)) {
        // A missing program is reported when it is started.
        sources.extend(BindSource::open(path, path));
    }
    if let Some(input) = &spec.input {
        let missing = || LauncherMessage::Failed {
            act: "open the input folder".to_string(),
            error: format!("{} cannot be opened", input.display()),
        };
        sources.push(BindSource::open(input, INPUT).ok_or_else(missing)?);
    }
    Ok(sources)
}

/// Creates folders, links and small files of the root, and the writable file system.
fn populate(root: &Path, spec: &LaunchSpec) -> Result<(), LauncherMessage> {
    let folder = |path: &str| try_step("create the files of the root", fs::create_dir_all(inside(root, path)));
    ["/dev", "/etc", "/proc", SCRATCH, WORK].iter().try_for_each(|path| folder(path))?;
    for link in SYSTEM {
        if let Ok(target) = fs::read_link(link) {
            try_step("create the files of the root", symlink(target, inside(root, link)))?;
        }
    }
    for (name, target) in LINKS {
        try_step("create the files of the root", symlink(target, inside(root, name)))?;
    }
    for (path, text) in FILES {
        try_step("create the files of the root", fs::write(inside(root, path), text))?;
    }
    let owner = spec.user.unwrap_or_default();
    if let Some(text) = &spec.kubeconfig {
        let path = inside(root, KUBECONFIG);
        let mut options = fs::OpenOptions::new();
        let made = options.create_new(true).write(true).mode(0o400).open(&path);
        try_step(
            "create the files of the root",
            made.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes())),
        )?;
        try_step("create the files of the root", std::os::unix::fs::chown(&path, Some(owner), Some(owner)))?;
    }
    let (disk, files) = (spec.bounds.disk_bytes, MAX_FILES);
    mount_tmpfs(&inside(root, WORK), &format!("size={disk},nr_inodes={files},mode=0755"))?;
    folder(OUTPUT)?;
    let scratch = inside(root, WORK).join("tmp");
    try_step("create the files of the root", fs::create_dir(&scratch))?;
    // The parent of the output is writable too, because a native operator writes an index next to it.
    for path in [&inside(root, WORK), &inside(root, OUTPUT), &scratch] {
        try_step("create the files of the root", std::os::unix::fs::chown(path, Some(owner), Some(owner)))?;
    }
    try_step("create the files of the root", mount_bind(&scratch, inside(root, SCRATCH)))
}

/// Mounts a file system in memory with a size limit.
fn mount_tmpfs(at: &Path, options: &str) -> Result<(), LauncherMessage> {
    let options = CString::new(options).unwrap_or_default();
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    require("no file system in memory can be mounted", mount("tmpfs", at, "tmpfs", flags, options.as_c_str()))
}

fn inside(root: &Path, path: impl AsRef<Path>) -> PathBuf {
    root.join(path.as_ref().strip_prefix("/").unwrap_or(path.as_ref()))
}

impl BindSource {
    fn open(path: &Path, at: impl AsRef<Path>) -> Option<Self> {
        let file = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Self { file, at: at.as_ref().to_path_buf(), folder: path.is_dir() })
    }

    fn step_name(&self) -> String {
        format!("show {}", self.at.display())
    }

    fn bind(&self, root: &Path) -> Result<(), LauncherMessage> {
        let target = inside(root, &self.at);
        let parent = target.parent().unwrap_or(root);
        // A nested path already exists in its mounted parent, which is read-only by now.
        let made = if fs::symlink_metadata(&target).is_ok() {
            Ok(())
        } else if self.folder {
            fs::create_dir_all(&target)
        } else {
            fs::create_dir_all(parent)
                .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(&target).map(drop))
        };
        try_step(&self.step_name(), made)?;
        let name = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let bound = match mount_bind(name.as_str(), &target) {
            // Mounts below come from a more privileged namespace and must be included.
            Err(Errno::INVAL) => mount_bind_recursive(name.as_str(), &target),
            bound => bound,
        };
        try_step(&self.step_name(), bound)
    }

    /// Makes the mount and all mounts below it read-only. Restrictive flags of a mount are kept, because the kernel
    /// refuses to clear them.
    fn make_read_only(&self, root: &Path) -> Result<(), LauncherMessage> {
        let target = inside(root, &self.at);
        let was = try_step(&self.step_name(), fstatvfs(&self.file))?.f_flag;
        try_step(&self.step_name(), read_only(&target, was))?;
        for mounted in try_step(&self.step_name(), mounts::below(&target))? {
            let was = try_step(&self.step_name(), statvfs(&mounted))?.f_flag;
            try_step(&self.step_name(), read_only(&mounted, was))?;
        }
        Ok(())
    }
}

fn read_only(at: &Path, was: StatVfsMountFlags) -> Result<(), Errno> {
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    if was.contains(StatVfsMountFlags::NOEXEC) {
        flags |= MountFlags::NOEXEC;
    }
    mount_remount(at, flags, c"")
}
