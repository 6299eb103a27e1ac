//! The command line of `get-offset`; the work is in `ottla_tools::get_offset`.

use std::io::{self, BufWriter};
use std::process::ExitCode;

use clap::Parser;
use ottla_client::{Bootstrap, Client, ClientConfig};
use ottla_tools::Ending;
use ottla_tools::get_offset::{ArgumentError, PartitionFilter, get_offsets, parse_time};

/// Prints partitions' offsets as topic:partition:offset.
///
/// Exit status: 0 fine, 1 nothing could be asked or nothing fits, 2 wrong usage, 3 a partition was skipped.
#[derive(Debug, Parser)]
#[command(
    name = "get-offset",
    version,
    after_help = "Examples:\n  get-offset --bootstrap-server localhost:9092 --topic orders\n  \
                  get-offset --bootstrap-server localhost:9092 --topic-partitions 'orders:0-4,audit.*' --time earliest"
)]
struct Arguments {
    /// Where to find the cluster: host:port, several separated by commas
    #[arg(short = 'b', long)]
    bootstrap_server: Bootstrap,
    /// A pattern of topic names; without it all topics
    #[arg(long)]
    topic: Option<String>,
    /// Partition numbers, separated by commas
    #[arg(long, value_delimiter = ',', conflicts_with = "topic_partitions")]
    partitions: Vec<String>,
    /// Patterns with partitions, separated by commas: pattern, pattern:3, pattern:3-5 (without 5), pattern:3-, :-5
    #[arg(long, value_delimiter = ',', conflicts_with = "topic")]
    topic_partitions: Vec<String>,
    /// Which offset: latest, earliest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload, or that of the first
    /// record at or after a time in milliseconds since 1970
    #[arg(long, default_value = "latest", allow_hyphen_values = true)]
    time: String,
    /// Leave out topics that the cluster keeps for itself
    #[arg(long)]
    exclude_internal_topics: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let prepared = filter(&arguments).and_then(|filter| Ok((filter, parse_time(&arguments.time)?)));
    let (filter, spec) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            eprintln!("get-offset: {error}");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("get-offset: cannot start: {error}");
            return Ending::Failed.into();
        }
    };
    let mut client = Client::new(arguments.bootstrap_server, ClientConfig::default());
    let mut out = BufWriter::new(io::stdout().lock());
    match runtime.block_on(get_offsets(&mut client, &filter, spec, &mut out, &mut io::stderr())) {
        Ok(ending) => ending.into(),
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("get-offset: cannot write the output: {error}");
            Ending::Failed.into()
        }
    }
}

fn filter(arguments: &Arguments) -> Result<PartitionFilter, ArgumentError> {
    let filter = if arguments.topic_partitions.is_empty() {
        PartitionFilter::topic_and_partitions(arguments.topic.as_deref(), &arguments.partitions)?
    } else {
        PartitionFilter::topic_partitions(&arguments.topic_partitions)?
    };
    Ok(filter.excluding_internal(arguments.exclude_internal_topics))
}
