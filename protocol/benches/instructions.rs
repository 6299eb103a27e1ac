//! How many instructions each piece of work takes, by us and by crate kafka-protocol: a process that does it once is
//! stepped through, so the figures are those of this processor, whatever it can do, and the same each time. Takes no
//! times. docs/performance.md has the figures; Linux only.

#![allow(clippy::print_stdout, reason = "the output is what the program is for")]

#[allow(unreachable_pub, reason = "two programs share the file")]
mod cases;

use std::process::{Command, ExitCode};

use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

const WHO: [&str; 2] = ["ottla", "kafka-protocol"];
const WARM_UP_TIMES: usize = 20;
/// Work that is not worth its time where every change is checked: copying megabytes is millions of steps.
const LONG: &str = "topics: 1000";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => compare(|_| true),
        ["--short"] => compare(|name| !name.contains(LONG)),
        ["--list"] => {
            for (number, case) in cases::all().iter().enumerate() {
                println!("{number} {}", case.name);
            }
            ExitCode::SUCCESS
        }
        ["--stepped", number, who] => {
            ptrace::traceme().expect("the parent may trace its child");
            let mut work = work(number, who);
            // Then the allocator has what is freed and taken again each time.
            for _ in 0..WARM_UP_TIMES {
                work();
            }
            stop();
            work();
            stop();
            ExitCode::SUCCESS
        }
        // For a profiler.
        [number, who, times] => {
            let mut work = work(number, who);
            for _ in 0..times.parse::<u64>().expect("how many times") {
                work();
            }
            ExitCode::SUCCESS
        }
        _ => panic!("arguments are none, --short, --list, or: <number> ottla|kafka-protocol <times>"),
    }
}

/// Prints the table, and fails if a piece of work takes more than it may.
fn compare(wanted: impl Fn(&str) -> bool) -> ExitCode {
    println!("| work | Ottla | kafka-protocol | ratio |\n|---|---:|---:|---:|");
    let overhead = count("none", WHO[0]);
    let mut too_many = 0;
    for (number, case) in cases::all().iter().enumerate().filter(|(_, case)| wanted(&case.name)) {
        let [ours, theirs] = WHO.map(|who| count(&number.to_string(), who) - overhead);
        let percent = (100 * ours).div_ceil(theirs);
        println!("| {} | {ours} | {theirs} | {}.{:02} |", case.name, percent / 100, percent % 100);
        too_many += u64::from(percent > cases::PERCENT_MAX);
    }
    if too_many == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{too_many} of them take more than they may, which stands in cases.rs");
    ExitCode::FAILURE
}

fn work(number: &str, who: &str) -> Box<dyn FnMut()> {
    if number == "none" {
        return Box::new(|| ());
    }
    let number: usize = number.parse().expect("the number of a case");
    let mut cases = cases::all();
    let cases::Work { ours, theirs } = (cases.remove(number).make)();
    match who {
        "ottla" => ours,
        "kafka-protocol" => theirs,
        _ => panic!("{who} is none of {WHO:?}"),
    }
}

/// Hands over to the parent, which steps from here to the next stop.
fn stop() {
    raise(Signal::SIGSTOP).expect("a process may stop itself");
}

/// The instructions between the two stops of a process that does the work.
fn count(number: &str, who: &str) -> u64 {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program).args(["--stepped", number, who]).spawn().expect("it starts again");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    assert_eq!(waitpid(pid, None), Ok(WaitStatus::Stopped(pid, Signal::SIGSTOP)), "{number} {who}");
    let mut count = 0;
    let mut at = instruction(pid);
    loop {
        ptrace::step(pid, None).expect("a stopped child steps");
        match waitpid(pid, None) {
            Ok(WaitStatus::Stopped(_, Signal::SIGTRAP)) => {}
            Ok(WaitStatus::Stopped(_, Signal::SIGSTOP)) => break,
            other => panic!("{number} {who}: {other:?}"),
        }
        let next = instruction(pid);
        // One that repeats itself, as copying may, is one, however many steps it takes.
        count += u64::from(next != at);
        at = next;
    }
    ptrace::cont(pid, None).expect("a stopped child goes on");
    assert!(child.wait().expect("it ends").success(), "{number} {who}");
    count
}

/// Where the process is.
#[cfg(target_arch = "x86_64")]
fn instruction(pid: Pid) -> u64 {
    ptrace::getregs(pid).expect("a stopped child's registers").rip
}

#[cfg(target_arch = "aarch64")]
fn instruction(pid: Pid) -> u64 {
    ptrace::getregs(pid).expect("a stopped child's registers").pc
}
