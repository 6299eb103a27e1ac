//! The binary `ottla-broker`: all of it is in the library.

fn main() -> std::process::ExitCode {
    ottla_broker::run()
}
