//! `switchboard completion`: shell completion scripts.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use switchboard_runtime::program_name;

use crate::failure::CommandError;
use crate::output_format;

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = "\
In this shell:           source <(switchboard completion bash)
For every bash:          switchboard completion bash > ~/.local/share/bash-completion/completions/switchboard
For every zsh:           switchboard completion zsh > ~/.zfunc/_switchboard     (a folder of $fpath)
For every fish:          switchboard completion fish > ~/.config/fish/completions/switchboard.fish")]
pub struct Completion {
    /// Shell that the script is for
    #[arg(value_enum, value_name = "bash|zsh|fish")]
    shell: SupportedShell,
}

/// Shells whose scripts are tested.
#[derive(Clone, Copy, clap::ValueEnum)]
enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

impl Completion {
    /// Prints the script for the command line.
    pub fn run(self, command: Command) -> Result<(), CommandError> {
        let shell = match self.shell {
            SupportedShell::Bash => Shell::Bash,
            SupportedShell::Zsh => Shell::Zsh,
            SupportedShell::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        generate(shell, &mut without_hidden_values(command), program_name::get(), &mut script);
        output_format::write(&String::from_utf8_lossy(&script))
    }
}

/// Removes the hidden values of arguments: clap's script for bash would list them.
fn without_hidden_values(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let (hidden, shown): (Vec<_>, Vec<_>) =
            arg.get_possible_values().into_iter().partition(PossibleValue::is_hide_set);
        if hidden.is_empty() { arg } else { arg.value_parser(PossibleValuesParser::new(shown)) }
    });
    command.mut_subcommands(without_hidden_values)
}
