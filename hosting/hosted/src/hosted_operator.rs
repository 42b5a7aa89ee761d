//! A program as an operator of the kernel.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use switchboard_gather::contract::ResourceType;
use switchboard_gather::discovery::Discovery;
use switchboard_kernel::config::{OperatorConfig, PROCESS_MEMORY_BYTES, ProcessConfig};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{DecideError, Declaration, Operator, ServiceAccount, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{ExternalState, Question, View};
use switchboard_object::causes::error_chain;
use switchboard_sandbox::egress::{EgressRuleError, EgressRules};
use switchboard_sandbox::{RunUsage, STDOUT_BYTES, Sandbox, SandboxError, SandboxJob, SandboxLimits};

use crate::contract::Contract;
use crate::declaration::{self, ContractKinds};
use crate::discovery;
use crate::generated::GeneratedObjects;
use crate::inputs::RunInputs;
use crate::live::{WorkloadAccess, WorkloadAccessError};
use crate::plan::plan;
use crate::recorded_contract;
use crate::run::{ProgramRunner, RunTime};
use crate::run_result::RunResult;

/// Error of a hosted program.
#[derive(Debug, thiserror::Error)]
pub enum HostingError {
    /// The program does not exist.
    #[error("program {} does not exist", .0.display())]
    NoProgram(PathBuf),
    /// A file of `files` does not exist.
    #[error("could not find {}, which `files` lists", .0.display())]
    NoFile(PathBuf),
    /// A command could not be run.
    #[error("could not run {command}")]
    Run {
        /// Command.
        command: &'static str,
        /// Cause.
        #[source]
        source: SandboxError,
    },
    /// A command failed.
    #[error("could not read the declaration of {}: {why}", program.display())]
    NoContract {
        /// Path of the program.
        program: PathBuf,
        /// Exit status and output.
        why: String,
    },
    /// A command printed an invalid declaration.
    #[error("could not parse the output of {command} of {}: {why}", program.display())]
    InvalidContract {
        /// Path of the program.
        program: PathBuf,
        /// Command.
        command: &'static str,
        /// Problem.
        why: String,
    },
    /// The work folder cannot be used.
    #[error("could not use the work folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// An egress rule is invalid.
    #[error("could not read `egress`")]
    Egress(#[source] EgressRuleError),
    /// No sandbox can be created.
    #[error("could not create the sandbox")]
    Sandbox(#[source] SandboxError),
    /// The live command has no service account.
    #[error(
        "`live` needs a `serviceAccount`: the program accesses the user workload cluster with a token of this account"
    )]
    NoAccount,
    /// The program cannot get access to the user workload cluster.
    #[error("could not create access to the user workload cluster for the program")]
    Access(#[source] WorkloadAccessError),
}

/// A program with the four commands of the contract, and its settings.
#[derive(Clone, Debug)]
pub struct ProgramSpec {
    /// Name of the operator.
    pub name: String,
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments before the command.
    pub arguments: Vec<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// Files that the program may read besides its input.
    pub files: Vec<PathBuf>,
    /// Controllers to run; all if empty.
    pub controllers: Vec<String>,
    /// Whether the program runs in a sandbox.
    pub sandbox: bool,
    /// Limits of a run.
    pub limits: SandboxLimits,
    work: PathBuf,
}

impl ProgramSpec {
    /// Reads the specification from a configuration. The program's work folder is below `work`.
    ///
    /// # Errors
    /// If the program or one of its files does not exist.
    pub fn of(name: &str, config: &OperatorConfig, process: &ProcessConfig, work: &Path) -> Result<Self, HostingError> {
        let program =
            resolve_program(&process.program).ok_or_else(|| HostingError::NoProgram(process.program.clone()))?;
        // Checked here, because the program's own error about a missing file may be misleading.
        let there =
            |file: &PathBuf| absolute(file).filter(|path| path.exists()).ok_or(HostingError::NoFile(file.clone()));
        let files = process.files.iter().map(there).collect::<Result<_, _>>()?;
        let bounds = limited(default_limits(Duration::ZERO), &config.limits(), process.live);
        let bounds = SandboxLimits { disk_bytes: process.disk_bytes, processes: process.processes, ..bounds };
        Ok(Self {
            name: name.to_string(),
            program,
            arguments: process.arguments.clone(),
            env: process.env.clone(),
            files,
            controllers: process.controllers.clone(),
            sandbox: process.sandbox,
            limits: bounds,
            work: work.join(name),
        })
    }

    /// Returns the job of a command.
    pub(crate) fn job(&self, command: &str) -> SandboxJob {
        let mut job = SandboxJob::new(&self.program, self.limits).args(self.arguments.iter().cloned()).args([command]);
        job.env = self.env.clone();
        job.readable = self.files.clone();
        job.unconfined = !self.sandbox;
        job
    }

    /// Returns the input folder.
    pub(crate) fn input(&self) -> PathBuf {
        self.work.join("input")
    }
}

/// Returns the limits of a program whose configuration sets none.
pub fn default_limits(wall: Duration) -> SandboxLimits {
    let ProcessConfig { disk_bytes, processes, .. } = ProcessConfig::default();
    SandboxLimits { wall, memory_bytes: PROCESS_MEMORY_BYTES, disk_bytes, processes, stdout_bytes: STDOUT_BYTES }
}

/// Returns the limits of a run within the operator's limits.
fn limited(bounds: SandboxLimits, limits: &Limits, live: bool) -> SandboxLimits {
    // The kernel abandons a run after the timeout. The program is killed a little earlier, so that the error names the
    // reason. Two commands share the time.
    let wall = limits.timeout.mul_f64(if live { 0.45 } else { 0.9 });
    SandboxLimits { wall, memory_bytes: limits.memory_bytes, ..bounds }
}

/// Returns the absolute path of a program, given as a path or as a name in `PATH`.
pub fn resolve_program(program: &Path) -> Option<PathBuf> {
    let path = if program.components().count() > 1 || program.is_absolute() {
        program.to_path_buf()
    } else {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())?
    };
    absolute(&path).filter(|path| path.is_file())
}

/// Returns the absolute path, without resolving a link in the last segment, because programs use the name they are
/// called by.
fn absolute(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// A hosted program as an operator.
pub struct HostedOperator {
    name: String,
    contract: Contract,
    kinds: ContractKinds,
    declaration: Declaration,
    /// Absent if nothing is run, as in a replay.
    runner: Option<Arc<ProgramRunner>>,
    live: Option<Arc<(WorkloadAccess, ServiceAccount, EgressRules)>>,
    is_live: bool,
    /// Declared types that no cluster serves.
    unserved: Vec<ResourceType>,
    work: PathBuf,
}

/// Run of the offline command. The fingerprint of the input is recorded; the input itself travels beside the question.
#[derive(Serialize)]
struct OfflineRun<'a> {
    input: &'a str,
    /// Number of objects of the input.
    objects: usize,
    now: &'a str,
}

impl Question for OfflineRun<'_> {
    type Answer = RunResult;
    const KIND: &'static str = "apply-configuration";

    /// The command only reads files.
    fn acts(&self) -> bool {
        false
    }

    fn external_state(_answer: &Result<RunResult, String>) -> ExternalState {
        ExternalState::Nothing
    }
}

/// Run of the live command with the input of the offline command. It can reach the cluster and may write to it.
#[derive(Serialize)]
struct LiveRun<'a> {
    input: &'a str,
    now: &'a str,
}

impl Question for LiveRun<'_> {
    type Answer = RunResult;
    const KIND: &'static str = "apply-configuration-live";

    /// The resource usage is no state of the cluster.
    fn external_state(answer: &Result<RunResult, String>) -> ExternalState {
        let unmetered = |answer: &RunResult| RunResult { usage: RunUsage::default(), ..answer.clone() };
        ExternalState::Part(json!(answer.as_ref().map(unmetered)))
    }
}

impl HostedOperator {
    /// Queries a program's contract and creates an operator from it.
    ///
    /// `discovery` is the discovery of the clusters, `live` the access to the user workload cluster for the live
    /// command.
    ///
    /// # Errors
    /// If a command fails or its output is invalid.
    pub fn load(
        program: ProgramSpec,
        account: Option<ServiceAccount>,
        discovery: &Discovery,
        live: Option<(WorkloadAccess, &[String])>,
    ) -> Result<Self, HostingError> {
        let work = program.work.clone();
        let sandbox = Sandbox::new(&work).map_err(HostingError::Sandbox)?;
        let contract = Contract::query(&program, &sandbox)?;
        let (kinds, unserved) = ContractKinds::of(&contract, discovery);
        let declaration = declaration::declaration(&contract, &kinds, account.clone());
        let live = match live {
            Some((access, egress)) => {
                let account = account.ok_or(HostingError::NoAccount)?;
                let rules = EgressRules::read(egress).map_err(HostingError::Egress)?;
                let rules = rules.and(access.server().map_err(HostingError::Access)?);
                Some(Arc::new((access, account, rules)))
            }
            None => None,
        };
        let name = program.name.clone();
        let runner = Some(Arc::new(ProgramRunner::new(program, sandbox, &work, discovery::advertised(discovery))?));
        recorded_contract::save(&work, &contract, &kinds, live.is_some())?;
        let is_live = live.is_some();
        Ok(Self { name, contract, kinds, declaration, runner, live, is_live, unserved, work })
    }

    /// Returns the declared types that no cluster serves. Their objects count as absent.
    pub fn unserved(&self) -> &[ResourceType] {
        &self.unserved
    }

    /// Returns the program with a new discovery, if it serves further declared types. The contract is not queried
    /// again.
    ///
    /// # Errors
    /// If the work folder cannot be used.
    pub fn with_discovery(&self, discovery: &Discovery) -> Result<Option<Self>, HostingError> {
        let (kinds, unserved) = ContractKinds::of(&self.contract, discovery);
        if unserved.len() >= self.unserved.len() {
            return Ok(None);
        }
        recorded_contract::save(&self.work, &self.contract, &kinds, self.is_live)?;
        if let Some(runner) = &self.runner {
            runner.set_discovery(discovery::advertised(discovery));
        }
        let account = self.declaration.service_account.clone();
        Ok(Some(Self {
            name: self.name.clone(),
            contract: self.contract.clone(),
            declaration: declaration::declaration(&self.contract, &kinds, account),
            kinds,
            runner: self.runner.clone(),
            live: self.live.clone(),
            is_live: self.is_live,
            unserved,
            work: self.work.clone(),
        }))
    }

    /// Stops a run without a sandbox, which would outlive this process. No further run starts.
    pub fn stop(&self) {
        if let Some(runner) = &self.runner {
            runner.stop();
        }
    }

    /// Applies changed limits from the next run on.
    pub fn set_limits(&self, limits: &Limits) {
        if let Some(runner) = &self.runner {
            runner.update_limits(|bounds| limited(bounds, limits, self.is_live));
        }
    }

    /// Returns the program with its recorded contract, which is sufficient for a replay.
    pub fn load_recorded(name: &str, work: &Path) -> Option<Self> {
        let work = work.join(name);
        let (contract, kinds, is_live) = recorded_contract::load(&work)?;
        let declaration = declaration::declaration(&contract, &kinds, None);
        let (name, runner, live) = (name.to_string(), None, None);
        Some(Self { name, contract, kinds, declaration, runner, live, is_live, unserved: Vec::new(), work })
    }

    fn runner(&self) -> Result<&ProgramRunner, String> {
        self.runner.as_deref().ok_or_else(|| "the program does not run in this process".to_string())
    }

    fn run_live(&self, now: &str) -> Result<RunResult, String> {
        let (access, account, rules) = self.live.as_deref().ok_or("the program has no access to its cluster")?;
        let kubeconfig = access.kubeconfig(account).map_err(|error| error_chain(&error))?;
        // A dry run skips the live command.
        self.runner()?.live(kubeconfig, rules.clone(), RunTime { now, dry_run: false })
    }
}

impl Operator for HostedOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        self.declaration.clone()
    }

    /// Programs look for their own field managers. Without them, a program would apply its objects in every run with a
    /// new time.
    fn needs_managed_fields(&self) -> bool {
        true
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let now = view.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let inputs = RunInputs::read(&self.contract, &self.kinds, view);
        let made = GeneratedObjects::read(&self.contract, &self.kinds, view);
        let (inputs, made) = (inputs?, made?);
        let input = inputs.fingerprint();
        let question = OfflineRun { input: &input, objects: inputs.len(), now: &now };
        let when = RunTime { now: &now, dry_run: view.is_dry_run() };
        let answer = view.ask(question, |_| self.runner()?.offline(&inputs, &self.kinds, when));
        let mut answers = vec![answer.map_err(DecideError::Failed)?];
        if self.is_live {
            match view.ask(LiveRun { input: &input, now: &now }, |_| self.run_live(&now)) {
                Ok(answer) => answers.push(answer),
                // The writes of the offline command do not depend on the live command.
                Err(why) => return Ok(plan(&answers, &self.contract, &self.kinds, &made).failing(why)),
            }
        }
        Ok(plan(&answers, &self.contract, &self.kinds, &made))
    }
}

#[cfg(test)]
mod tests;
