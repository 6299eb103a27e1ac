//! Mistakes in attributes are compile errors that point at the mistake and say what is allowed.

#[test]
fn a_mistake_in_an_attribute_is_a_compile_error_that_points_at_it() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
