//! The same work a given number of times, and nothing else: what valgrind counts the instructions of. docs/performance.md
//! says how. Without arguments it lists the cases.

#![allow(clippy::print_stdout, reason = "the output is what the program is for")]

#[allow(unreachable_pub, reason = "two programs share the file")]
mod cases;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut cases = cases::all();
    let [number, who, times] = arguments.as_slice() else {
        for (number, case) in cases.iter().enumerate() {
            println!("{number} {}", case.name);
        }
        return;
    };
    let number: usize = number.parse().expect("the number of a case");
    let case = cases.get_mut(number).expect("a case of the list");
    let work = match who.as_str() {
        "ottla" => &mut case.ours,
        "kafka-protocol" => &mut case.theirs,
        _ => panic!("{who} is neither ottla nor kafka-protocol"),
    };
    for _ in 0..times.parse::<u64>().expect("how many times") {
        work();
    }
}
