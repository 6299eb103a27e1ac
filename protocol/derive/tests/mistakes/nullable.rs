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

fn main() {}
