/*
 * The names of functions in what gcc and clang say about them, which no standard describes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/session/session.h"
#include "writer/tests/support.h"

#include <string.h>

static void need(const char *text, const char *name)
{
    char room[TBED_FUNCTION_NBYTES_MAX + 1];
    assert_string_equal(tbed_function_name(text, room), name);
}

static void a_name_stays_as_it_is(void **state)
{
    (void)state;
    char room[TBED_FUNCTION_NBYTES_MAX + 1];
    const char *name = "load";
    assert_ptr_equal(tbed_function_name(name, room), name);
    need("", "");
}

static void types_are_left_out(void **state)
{
    (void)state;
    need("void load()", "load");
    need("bool Plan::AddTarget(const Node*, std::string*)", "Plan::AddTarget");
    need("virtual std::map<int, a<b> > net::Loader::load(int (*)(char)) const", "net::Loader::load");
    need("static constexpr int Counter::next() noexcept", "Counter::next");
    need("Lexer::Lexer(const char*)", "Lexer::Lexer");
    need("virtual Lexer::~Lexer()", "Lexer::~Lexer");
    need("void {anonymous}::hidden()", "{anonymous}::hidden");
    need("void (anonymous namespace)::hidden()", "(anonymous namespace)::hidden");
}

static void parameters_of_templates_are_left_out(void **state)
{
    (void)state;
    need("T sum(T, T) [with T = int]", "sum");
    need("T sum(T, T) [with T = char [3]]", "sum");
    need("static T Box<T>::make() [T = int]", "Box<T>::make");
    need("auto main()::<lambda(auto:1)> [with auto:1 = int]", "main()::<lambda(auto:1)>");
}

static void operators_keep_their_signs(void **state)
{
    (void)state;
    need("bool Key::operator<(const Key&) const", "Key::operator<");
    need("Out& operator<<(Out&, int)", "operator<<");
    need("T* Pointer<T>::operator->() const [with T = int]", "Pointer<T>::operator->");
    need("int Call::operator()(int)", "Call::operator()");
    need("int& List::operator[](int)", "List::operator[]");
    need("Key::operator bool() const", "Key::operator bool");
    need("void my_operator(int)", "my_operator");
}

static void lambdas_have_the_name_of_their_function(void **state)
{
    (void)state;
    need("main()::<lambda(int)>", "main()::<lambda(int)>");
    need("auto main()::(anonymous class)::operator()(int) const", "main()::(anonymous class)::operator()");
}

/* Nothing that a compiler might say leads out of the text. */
static void odd_texts_are_survived(void **state)
{
    (void)state;
    char text[600], room[TBED_FUNCTION_NBYTES_MAX + 1];
    for (const char *byte = "()<>[]{} o:a"; *byte != '\0'; byte++) {
        memset(text, *byte, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        tbed_function_name(text, room);
    }
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 3, "()", 3);
    assert_int_equal(strlen(tbed_function_name(text, room)), TBED_FUNCTION_NBYTES_MAX);
    need("operator", "operator");
    need(")(", ")(");
    need("]", "]");
    need(" ", " ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_stays_as_it_is),
        cmocka_unit_test(types_are_left_out),
        cmocka_unit_test(parameters_of_templates_are_left_out),
        cmocka_unit_test(operators_keep_their_signs),
        cmocka_unit_test(lambdas_have_the_name_of_their_function),
        cmocka_unit_test(odd_texts_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
