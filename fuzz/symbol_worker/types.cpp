typedef unsigned long size_t;
#if defined(__x86_64__)
typedef __float128 quad;
#else
typedef long double quad;
#endif
typedef __int128 big; typedef unsigned __int128 ubig;
enum colour : unsigned char { RED, GREEN = 7, BLUE = 200 };
enum class side { left = -1, right = 1 };
enum flags { none = 0, one = 1, both = 3 };
struct point { float x, y; };
struct vec4 { double a, b, c, d; };
struct mixed { double d; int i; };
struct large { long v[5]; const char *name; };
struct empty {};
struct bits { unsigned a : 3, b : 29; long c : 40; };
union number { long l; double d; float f[2]; };
struct nested { struct { short s; union number n; } in; char text[6]; bool ok; };
struct packed { char c; int i; } __attribute__((packed));
struct base { virtual ~base(); int b; };
struct derived : virtual base { int d; };
struct copied { copied(const copied &); copied(copied &&); int i; };
struct owned { ~owned(); int i; };
struct plain : point { int z; static int shared; void f(); };
struct holder { owned o; };
struct arrays { int grid[2][3]; point at[2]; };
struct zero { int n; int rest[]; };
struct made { made(int); made(double, const made &); int i; };
struct defaulted { defaulted(const defaulted &) = default; ~defaulted() = default; int i; };
struct moved { moved(moved &&); int i; };
struct by_pointer { by_pointer(const by_pointer *); int i; };
struct virtual_call { virtual void call(); int i; };
template <class T> struct boxed { boxed(const boxed &); ~boxed(); T value; };
struct part_of_class { owned parts[2]; };
struct deep { struct { struct { struct { struct { struct { struct { struct { struct { int i; } a; } b; } c; } d; } e; } f; } g; } h; };
struct many { char c[40]; int i[20]; };
struct flexible { int n; struct { int a; } list[0]; };
enum numbers { L0, L1 = 1 << 30, L2 = -5 }; enum class wide : unsigned long { top = 1ul << 63 };

struct string_holder;
template <class T> struct traits {}; template <class T> struct alloc {};
namespace std { template <class C, class T = traits<C>, class A = alloc<C>> struct basic_string { C *_M_p; size_t _M_string_length; C room[16]; basic_string(const basic_string &); ~basic_string(); };
template <class C, class T = traits<C>> struct basic_string_view { size_t _M_len; const C *_M_str; }; typedef decltype(nullptr) nullptr_t; }
typedef std::basic_string<char> string; typedef std::basic_string_view<char> view;
struct string_in { view v; int i; };
typedef float v4 __attribute__((vector_size(16)));
typedef const volatile int cvint; typedef void callback(int);
struct ld { long double l; };
struct hfa2 { float a; float b; }; struct hfa4 { double a[4]; }; struct hva { point p, q; };
#define F __attribute__((noinline, used))
extern "C" {
F int f_chars(char c, signed char s, unsigned char u, bool b, short h, unsigned short uh, char16_t w, char32_t w4) { return c + s + u + b + h + uh + w + w4; }
F long f_ints(int a, unsigned b, long c, unsigned long d, long long e, big g, ubig h, int on_stack, long more) { return a + b + c + d + e + g + h + on_stack + more; }
F double f_floats(float a, double b, long double c, float d, double e, float f, float g, float h, float i, double on_stack) { return a + b + c + d + e + f + g + h + i + on_stack; }
F long double f_long_double(long double a) { return a; }
F const char *f_text(const char *t, char *u, const unsigned char *v, void *p, cvint *q, callback *cb, int *const r, char **z) { return t; }
F enum colour f_enums(colour c, side s, flags f) { return c; }
F point f_small(point p, mixed m, bits b, number n) { return p; }
F large f_large(large l, vec4 v) { return l; }
F mixed f_mixed(mixed a, mixed b, mixed c, mixed d, mixed e, mixed f, mixed g) { return a; }
F empty f_empty(empty e, int a) { return e; }
F nested f_nested(nested n, packed p, arrays a) { return n; }
F ld f_ld(ld l) { return l; }
F hfa4 f_hfa(hfa2 a, hfa4 b, hva c, hfa4 d) { return b; }
F number f_union(number a) { return a; }
F zero *f_zero(zero *z, zero &y) { return z; }
F big f_big(big a, int b, big c) { return a; }
F v4 f_vector(v4 v) { return v; }
F int f_member(int plain::*m, void (plain::*f)(), int a) { return a; }
F _Complex double f_complex(_Complex double c) { return c; }
F bool f_null(std::nullptr_t n, string_holder *h) { return h != nullptr; }
}
F int f_made(made m, defaulted d, moved v, by_pointer p, virtual_call c) { return m.i; }
F int f_boxed(boxed<int> b, boxed<boxed<char>> c, part_of_class p) { return b.value; }
F int f_deep(deep d, many m, flexible f, zero z) { return m.i[0]; }
F numbers f_large_enum(numbers l, wide w) { return l; }
F quad f_quad(quad q, const char *const *const *t, const volatile char *v) { return q; }
F int f_incomplete(struct unknown *u, struct unknown &v, void (*const table[3])(int)) { return 0; }
F int f_refs(int &a, const point &p, large &&l, const string &s, view &v, double &d, int *&pp) { return a; }
F int f_strings(string s, view v, const view &w, string_in i) { return v._M_len; }
F int f_classes(base *b, derived &d, copied c, owned o, plain p, holder h) { return p.z; }
F owned f_owned() { return owned(); }
F view f_view(view v) { return v; }
owned::~owned() {} base::~base() {} copied::copied(const copied &) {} 
void plain::f() {}
F int f_variadic(const char *format, ...) { return 0; }
F void f_array(int a[3], const char b[]) {}
