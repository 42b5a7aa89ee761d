//! `pause`, `resume` and `wake`: what a running kernel is told to do.

use clap::Args;
use serde_json::{Value, json};
use switchboard_kernel::operator::Unit;

use crate::failure::Failure;
use crate::kernel::StateDir;
use crate::talk::say;

/// Stops starting an operator's units.
#[derive(Args)]
pub struct Pause {
    /// The operator
    operator: String,
    #[command(flatten)]
    state: StateDir,
}

impl Pause {
    /// Pauses it until it is resumed, or the process ends.
    pub async fn run(self) -> Result<(), Failure> {
        let operator = self.operator;
        let body = json!({"operator": operator}).to_string();
        self.state.ask::<Value>("POST", "/api/v1/pause", body).await?;
        say(format_args!("{operator} is paused; runs under way end"));
        say(format_args!("hint: `switchboard resume {operator}` lets it go on"));
        Ok(())
    }
}

/// Lets a paused operator go on.
#[derive(Args)]
pub struct Resume {
    /// The operator
    operator: String,
    #[command(flatten)]
    state: StateDir,
}

impl Resume {
    /// Lets it go on; what has woken its units meanwhile is looked at.
    pub async fn run(self) -> Result<(), Failure> {
        let operator = self.operator;
        let body = json!({"operator": operator}).to_string();
        self.state.ask::<Value>("POST", "/api/v1/resume", body).await?;
        say(format_args!("{operator} goes on"));
        Ok(())
    }
}

/// Runs an operator's units soon, whether something changed or not.
#[derive(Args)]
pub struct Wake {
    /// The operator
    operator: String,
    /// Only this unit, as `shop/web`
    unit: Option<Unit>,
    #[command(flatten)]
    state: StateDir,
}

impl Wake {
    /// Asks for the runs; limits hold for them as for any.
    pub async fn run(self) -> Result<(), Failure> {
        let body = json!({"operator": self.operator, "unit": self.unit}).to_string();
        let answer: Value = self.state.ask("POST", "/api/v1/wake", body).await?;
        let woken = answer["woken"].as_u64().unwrap_or_default();
        say(format_args!("{woken} {} of {} will run", if woken == 1 { "unit" } else { "units" }, self.operator));
        Ok(())
    }
}
