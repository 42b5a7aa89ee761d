//! Which system calls are not for a program in a sandbox.
//!
//! Namespaces keep it from what is outside; this keeps it from the parts of the kernel that are not divided into
//! namespaces, and from making namespaces of its own, in which it would be root again.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::try_step;
use crate::wire::LauncherMessage;

const DENIED_CALLS: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    // Memory that belongs to no process is in nobody's account; so are queues and semaphores of System V, and pages that were
    // given to a pipe.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_msgget,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_semget,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_shmget,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vmsplice,
];

/// Sockets that a network namespace holds in; of the others, AF_VSOCK reaches the machine that hosts this one.
const FAMILIES: [libc::c_int; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Memory that is shared and no file's: what a process takes out of its own account by `madvise`, or unmaps but for a page,
/// is still held, and no account says so. `MAP_SHARED_VALIDATE` is the same with another name.
const SHARED_MEMORY: [libc::c_int; 2] =
    [libc::MAP_SHARED | libc::MAP_ANONYMOUS, libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS];
/// What of the flags of `mmap` says so.
const SHARING_FLAGS: libc::c_int = libc::MAP_TYPE | libc::MAP_ANONYMOUS;
/// Which argument they are.
const MMAP_FLAGS: u8 = 3;

/// A thread whose open files are its own: the process does not say how many those are, and what lies in them would be in nobody's
/// account. No library makes one.
const UNSHARED_FILES: libc::c_int = libc::CLONE_THREAD;
/// What of the flags of `clone` says so.
const THREAD_FILE_FLAGS: libc::c_int = libc::CLONE_THREAD | libc::CLONE_FILES;
/// The other way to one: `close_range` with this flag, its third argument.
const CLOSE_RANGE_UNSHARE: libc::c_int = 2;

const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Installs the filter for this process and all that it starts; there is no way back.
pub(super) fn install() -> Result<(), LauncherMessage> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let built = (|| {
        let other = |family: &libc::c_int| condition(0, SeccompCmpOp::Ne, *family);
        rules.insert(libc::SYS_socket, vec![SeccompRule::new(FAMILIES.iter().map(other).collect::<Result<_, _>>()?)?]);
        let makes =
            |flag: &libc::c_int| SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(widened(*flag)), *flag)?]);
        let apart = condition(0, SeccompCmpOp::MaskedEq(widened(THREAD_FILE_FLAGS)), UNSHARED_FILES)?;
        let mut clone: Vec<SeccompRule> = NAMESPACES.iter().map(makes).collect::<Result<_, _>>()?;
        clone.push(SeccompRule::new(vec![apart])?);
        rules.insert(libc::SYS_clone, clone);
        // A pipe holds what it holds when it is made: the account of memory goes by that.
        let widens = SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, libc::F_SETPIPE_SZ)?])?;
        rules.insert(libc::SYS_fcntl, vec![widens]);
        let shares = |flags: &libc::c_int| {
            SeccompRule::new(vec![condition(MMAP_FLAGS, SeccompCmpOp::MaskedEq(widened(SHARING_FLAGS)), *flags)?])
        };
        rules.insert(libc::SYS_mmap, SHARED_MEMORY.iter().map(shares).collect::<Result<_, _>>()?);
        // The flags of `clone3` stand in memory, where a filter does not see them. Told that there is no such call, libraries
        // use the older one; so do those who would give a thread open files of its own.
        let parts = condition(2, SeccompCmpOp::MaskedEq(widened(CLOSE_RANGE_UNSHARE)), CLOSE_RANGE_UNSHARE)?;
        let parts = vec![SeccompRule::new(vec![parts])?];
        let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_close_range, parts)]);
        Ok::<_, seccompiler::BackendError>([program(rules, libc::EPERM)?, program(unknown, libc::ENOSYS)?])
    })();
    let built = try_step("compile the filter of system calls", built.map_err(std::io::Error::other))?;
    for filter in built.into_iter().chain(x32_filter()) {
        let applied = apply_filter(&filter);
        applied.map_err(|error| LauncherMessage::Unsupported {
            what: format!("system calls cannot be filtered ({error})"),
        })?;
    }
    Ok(())
}

/// Refuses all calls by their second numbers: kernels may offer each once more to programs with short pointers, and a filter
/// that goes by the first alone lets those pass.
fn x32_filter() -> Option<BpfProgram> {
    const FIRST: u32 = 0x4000_0000;
    let step = |code: u32, jt: u8, jf: u8, k: u32| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    cfg!(target_arch = "x86_64").then(|| {
        vec![
            // The number of the call is the first word of what a filter is given.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, FIRST),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs()),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ]
    })
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: libc::c_int,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, widened(value))
}

fn widened(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}
