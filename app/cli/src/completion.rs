//! `switchboard completion`: what a shell needs to complete the command line.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::form;

/// Prints a script that completes the command line.
#[derive(Args)]
#[command(after_help = "\
In this shell:           source <(switchboard completion bash)
For every bash:          switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard
For every zsh:           switchboard completion zsh > ~/.zfunc/_switchboard     (a folder of $fpath)
For every fish:          switchboard completion fish > ~/.config/fish/completions/switchboard.fish")]
pub struct Completion {
    /// For which shell
    #[arg(value_enum, value_name = "bash|zsh|fish")]
    shell: Known,
}

/// The shells whose scripts are tested.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

impl Completion {
    /// Prints the script for that command line.
    pub fn run(self, mut command: Command) -> Result<(), Failure> {
        let shell = match self.shell {
            Known::Bash => Shell::Bash,
            Known::Zsh => Shell::Zsh,
            Known::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        generate(shell, &mut command, "switchboard", &mut script);
        form::write(&String::from_utf8_lossy(&script))
    }
}
