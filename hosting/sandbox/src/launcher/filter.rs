//! System calls that a sandboxed program must not use.
//!
//! Namespaces isolate the program from the host. The filter protects parts of the kernel without namespaces, and
//! prevents new namespaces, in which the program would be root again.

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
    // Memory without an owning process is not counted, like System V queues and semaphores, and pages moved into a
    // pipe.
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

/// Socket families that a network namespace isolates. For example, AF_VSOCK would reach the hypervisor.
const FAMILIES: [libc::c_int; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Shared anonymous memory: after `madvise`, or if all but one page is unmapped, the memory is still held but not
/// counted. `MAP_SHARED_VALIDATE` is equivalent.
const SHARED_MEMORY: [libc::c_int; 2] =
    [libc::MAP_SHARED | libc::MAP_ANONYMOUS, libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS];
/// Relevant flags of `mmap`.
const SHARING_FLAGS: libc::c_int = libc::MAP_TYPE | libc::MAP_ANONYMOUS;
/// Index of the flags argument of `mmap`.
const MMAP_FLAGS: u8 = 3;

/// A thread with its own table of open files: the number of these files is not reported, so their contents would not be
/// counted. No library creates such threads.
const UNSHARED_FILES: libc::c_int = libc::CLONE_THREAD;
/// Relevant flags of `clone`.
const THREAD_FILE_FLAGS: libc::c_int = libc::CLONE_THREAD | libc::CLONE_FILES;
/// Flag of `close_range` with the same effect, in its third argument.
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

/// Installs the filter for this process and its descendants. It cannot be removed.
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
        // Pipes must keep their initial size, because memory accounting assumes it.
        let widens = SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, libc::F_SETPIPE_SZ)?])?;
        rules.insert(libc::SYS_fcntl, vec![widens]);
        let shares = |flags: &libc::c_int| {
            SeccompRule::new(vec![condition(MMAP_FLAGS, SeccompCmpOp::MaskedEq(widened(SHARING_FLAGS)), *flags)?])
        };
        rules.insert(libc::SYS_mmap, SHARED_MEMORY.iter().map(shares).collect::<Result<_, _>>()?);
        // Flags of `clone3` are in memory, which a filter cannot read. With ENOSYS, libraries fall back to `clone`, as
        // does a program that tries to unshare a thread's files.
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

/// Returns a filter for x32 system calls: some kernels offer each call under a second number, which the main filter
/// would not match.
fn x32_filter() -> Option<BpfProgram> {
    const FIRST: u32 = 0x4000_0000;
    let step = |code: u32, jt: u8, jf: u8, k: u32| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    cfg!(target_arch = "x86_64").then(|| {
        vec![
            // The number of the call is the first word of the filter's input.
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
