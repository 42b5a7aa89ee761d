//! `pause`, `resume` and `reconcile`: commands that a running kernel carries out.

use clap::Args;
use serde_json::{Value, json};
use switchboard_kernel::operator::Unit;
use switchboard_runtime::count::counted;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;
use crate::state_args::StateArgs;

/// Stop starting units of an operator; running units finish
#[derive(Args)]
pub struct Pause {
    /// Operator name
    operator: String,
    #[command(flatten)]
    pub state: StateArgs,
}

impl Pause {
    /// Pauses the operator until it is resumed or the process ends.
    pub async fn run(self) -> Result<(), CommandError> {
        let operator = self.operator;
        let body = json!({"operator": operator}).to_string();
        self.state.dir().request::<Value>("POST", "/api/v1/pause", body).await?;
        print_stderr(format_args!("{operator} paused (running units finish)"));
        print_stderr(self.state.dir().complete(&format!("hint: resume with `switchboard resume {operator}`")));
        Ok(())
    }
}

/// Resume a paused operator
#[derive(Args)]
pub struct Resume {
    /// Operator name
    operator: String,
    #[command(flatten)]
    pub state: StateArgs,
}

impl Resume {
    /// Resumes the operator. Units that were triggered while it was paused run now.
    pub async fn run(self) -> Result<(), CommandError> {
        let operator = self.operator;
        let body = json!({"operator": operator}).to_string();
        self.state.dir().request::<Value>("POST", "/api/v1/resume", body).await?;
        print_stderr(format_args!("{operator} resumed"));
        Ok(())
    }
}

/// Run the units of an operator soon, even if nothing changed
#[derive(Args)]
pub struct Reconcile {
    /// Operator name
    operator: String,
    /// Unit to run, such as `shop/web` [default: all units]
    unit: Option<Unit>,
    #[command(flatten)]
    pub state: StateArgs,
}

impl Reconcile {
    /// Requests the runs; the limits apply to them as to any other run.
    pub async fn run(self) -> Result<(), CommandError> {
        let body = json!({"operator": self.operator, "unit": self.unit}).to_string();
        let answer: Value = self.state.dir().request("POST", "/api/v1/reconcile", body).await?;
        let triggered = answer["triggered"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
        print_stderr(format_args!("triggered {} of {}", counted(triggered, "unit"), self.operator));
        Ok(())
    }
}
