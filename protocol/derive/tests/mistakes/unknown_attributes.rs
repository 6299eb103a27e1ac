use ottla_derive::Message;

#[derive(Message)]
#[message(version = 1)]
struct Misspelt {
    a: i32,
}

#[derive(Message)]
struct Part {
    #[field(optional)]
    a: i32,
}

#[derive(Message)]
struct Twice {
    #[field(ignorable, versions = 1.., ignorable)]
    a: i32,
}

fn main() {}
