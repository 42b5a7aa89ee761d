//! Goals of the bench.

use std::process::ExitCode;

/// Missed goals.
#[derive(Default)]
pub struct GitopsGoals {
    missed: Vec<String>,
}

impl GitopsGoals {
    pub fn at_least(&mut self, what: &str, reached: f64, goal: f64) {
        self.check(what, reached, reached >= goal, goal);
    }

    pub fn at_most(&mut self, what: &str, reached: f64, goal: f64) {
        self.check(what, reached, reached <= goal, goal);
    }

    fn check(&mut self, what: &str, reached: f64, is_reached: bool, goal: f64) {
        if !is_reached {
            self.missed.push(format!("{what}: {reached:.2}, and the goal is {goal}"));
        }
    }

    /// Prints the missed goals and returns the exit code.
    pub fn exit_code(self) -> ExitCode {
        for missed in &self.missed {
            println!("goal missed: {missed}");
        }
        if self.missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
