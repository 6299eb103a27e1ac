use ottla_derive::Message;

#[derive(Message)]
struct OptionAlone {
    a: Option<i32>,
}

#[derive(Message)]
struct NullableAlone {
    #[field(nullable)]
    a: i32,
}

#[derive(Message)]
struct EmptyNumber {
    #[field(default = empty)]
    a: i32,
}

#[derive(Message)]
struct LiteralForOption {
    #[field(nullable, default = "x")]
    a: Option<String>,
}

#[derive(Message)]
struct NullableBefore {
    #[field(versions = 3.., nullable = 2..)]
    a: Option<i32>,
}

#[derive(Message)]
struct NullableBeyond {
    #[field(versions = 3..=5, nullable = 4..=6)]
    a: Option<i32>,
}

#[derive(Message)]
#[message(versions = 0..=3)]
struct NullableNever {
    #[field(nullable = 4..)]
    a: Option<i32>,
}

fn main() {}
