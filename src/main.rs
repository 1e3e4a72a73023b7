//! The `outset` command: arguments in, lines out. It does nothing that the library does not offer.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
