//! The command line of `dump-log`; the work is in `ottla_tools::dump_log`.

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use ottla_tools::Ending;
use ottla_tools::dump_log::{DumpOptions, dump_files};

/// Prints the files of a partition: log segments and their indexes.
///
/// Exit status: 0 fine, 1 a file could not be read, 2 wrong usage, 3 damage was found.
#[derive(Debug, Parser)]
#[command(
    name = "dump-log",
    version,
    after_help = "Examples:\n  dump-log --files orders-0/00000000000000000000.log\n  \
                  dump-log --print-data-log --files orders-0/00000000000000000000.log,orders-0/00000000000000000000.index"
)]
struct Arguments {
    /// The files, separated by commas: .log, .index, .timeindex
    #[arg(long, required = true, value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// Print a line for each record too
    #[arg(long)]
    deep_iteration: bool,
    /// Print keys and values too
    #[arg(long)]
    print_data_log: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options =
        DumpOptions { deep_iteration: arguments.deep_iteration, print_data_log: arguments.print_data_log };
    let mut out = BufWriter::new(io::stdout().lock());
    match dump_files(&arguments.files, options, &mut out, &mut io::stderr()) {
        Ok(ending) => ending.into(),
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dump-log: cannot write the output: {error}");
            Ending::Failed.into()
        }
    }
}
