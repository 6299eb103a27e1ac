use ottla_derive::Message;

#[derive(Message)]
enum Choice {
    A,
}

#[derive(Message)]
struct Tuple(i32);

#[derive(Message)]
struct Generic<T> {
    a: T,
}

fn main() {}
