//! Running other programs with a time limit, and telling what they said. Knows nothing of what they are.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Longer than any single program that we wait for needs, the first download of all jars included.
const RUN_TIME_MAX: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A program that has ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn success(&self) -> bool {
        self.status.success()
    }

    /// The exit code; -1 for a program that a signal ended.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }
}

/// Runs to the end with nothing on stdin and keeps what is written.
pub(crate) fn capture(command: &mut Command) -> Result<Finished> {
    capture_with_input(command, Vec::new())
}

/// Runs to the end with `input` on stdin and keeps what is written. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn capture_with_input(command: &mut Command, input: Vec<u8>) -> Result<Finished> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{name} does not start"))?;
    let mut stdin = child.stdin.take().context("a piped stdin")?;
    // A program may end before it has read everything; that it did is seen in its exit code.
    let feeder = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let stdout = collect(child.stdout.take().context("a piped stdout")?);
    let stderr = collect(child.stderr.take().context("a piped stderr")?);
    let status = wait(&mut child, RUN_TIME_MAX).with_context(|| format!("waiting for {name}"));
    let text = |reader: JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    let _ = feeder.join();
    Ok(Finished { status: status?, stdout, stderr })
}

/// Waits for the end; a program that takes longer than `limit` is killed, which is an error.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("it did not end within {limit:?} and was killed");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Asks `ready` again and again until it says yes; false once `limit` has passed.
pub(crate) fn wait_until(limit: Duration, mut ready: impl FnMut() -> Result<bool>) -> Result<bool> {
    let deadline = Instant::now() + limit;
    while !ready()? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(true)
}

/// Runs to the end with our own stdout and stderr; anything but success is an error that quotes the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("{command:?} does not start"))?;
    if !status.success() {
        bail!("{} failed ({status})", spelled(command));
    }
    Ok(())
}

/// Whether a program can be run at all, found by running it with `argument`.
pub(crate) fn answers(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The command as a person would type it, its program without a path.
pub(crate) fn spelled(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}
