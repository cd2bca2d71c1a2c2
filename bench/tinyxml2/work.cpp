/*
 * What bench/tinyxml2_bench.py lets tinyxml2 do: it makes a document, prints, parses, visits, changes and clones it, and
 * parses broken ones, whose errors are thrown through a few calls. With -DLOG it writes a line for each entry and exit of a
 * function, by the hooks of -finstrument-functions, with its frame, to the file that LOG_TO names.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tinyxml2.h"

using namespace tinyxml2;

#if defined(__clang__)
#define PLAIN                                                                                                \
    __attribute__((no_instrument_function, patchable_function_entry(0, 0), xray_never_instrument, noinline))
#else
#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0, 0), noinline))
#endif

#if defined(LOG)
static FILE *log_file;
PLAIN static void write_line(char what, void *function, void *frame)
{
    fprintf(log_file, "%c%lx %lx\n", what, (unsigned long)function, (unsigned long)frame);
}
extern "C" {
PLAIN void __cyg_profile_func_enter(void *function, void *)
{
    if (log_file != nullptr)
        write_line('+', function, __builtin_frame_address(1));
}
PLAIN void __cyg_profile_func_exit(void *function, void *)
{
    if (log_file != nullptr)
        write_line('-', function, __builtin_frame_address(1));
}
}
#endif

namespace work
{

struct Failure : std::runtime_error {
    explicit Failure(const char *text) : std::runtime_error(text) {}
};

template <typename Value> class Sum
{
  public:
    void add(Value value)
    {
        sum_ += value;
    }
    Value get() const
    {
        return sum_;
    }

  private:
    Value sum_{};
};

class Counter : public XMLVisitor
{
  public:
    bool VisitEnter(const XMLElement &element, const XMLAttribute *attribute) override
    {
        for (; attribute != nullptr; attribute = attribute->Next())
            attributes_.add(1);
        names_[element.Name()]++;
        return true;
    }
    bool Visit(const XMLText &text) override
    {
        lengths_.add(std::string(text.Value()).size());
        return true;
    }
    unsigned long result() const
    {
        return lengths_.get() + (unsigned long)attributes_.get() + names_.size();
    }

  private:
    Sum<unsigned long> lengths_;
    Sum<int> attributes_;
    std::map<std::string, int> names_;
};

static void fill(XMLDocument &document, XMLElement *parent, int depth, int breadth)
{
    for (int i = 0; i < breadth; i++) {
        XMLElement *child = document.NewElement(i % 3 == 0 ? "item" : "group");
        child->SetAttribute("number", i);
        child->SetAttribute("share", i * 0.25);
        parent->InsertEndChild(child);
        if (depth > 0)
            fill(document, child, depth - 1, breadth);
        else
            child->SetText(i % 2 ? "text &amp; more <of> it" : "some words");
    }
}

static unsigned long depth_of(const XMLNode *node)
{
    unsigned long deepest = 0;
    for (const XMLNode *child = node->FirstChild(); child != nullptr; child = child->NextSibling()) {
        unsigned long depth = 1 + depth_of(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void parse(XMLDocument &document, const std::string &text)
{
    if (document.Parse(text.c_str(), text.size()) != XML_SUCCESS)
        throw Failure(document.ErrorStr());
}

static int failures(const std::string &text)
{
    int count = 0;
    for (size_t at = 1; at < 400; at += 7) {
        XMLDocument document;
        try {
            parse(document, text.substr(0, at));
        } catch (const Failure &) {
#if defined(LOG)
            write_line('=', nullptr, __builtin_frame_address(0)); /* calls inside this one have ended */
#endif
            count++;
        }
    }
    return count;
}

static unsigned long round(int breadth)
{
    XMLDocument made, read, copy;
    XMLElement *root = made.NewElement("root");
    made.InsertFirstChild(root);
    fill(made, root, 3, breadth);
    XMLPrinter printer;
    made.Print(&printer);
    parse(read, printer.CStr());
    Counter counter;
    read.Accept(&counter);
    for (XMLElement *at = read.RootElement()->FirstChildElement("group"); at != nullptr;
         at = at->NextSiblingElement("group"))
        at->SetAttribute("number", at->IntAttribute("number") + 1);
    read.DeepCopy(&copy);
    return counter.result() + depth_of(&copy) + (unsigned long)failures(printer.CStr());
}

} // namespace work

PLAIN static double now()
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

PLAIN int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, breadth = argc > 2 ? atoi(argv[2]) : 5;
#if defined(LOG)
    log_file = fopen(getenv("LOG_TO"), "w");
#endif
    unsigned long result = 0;
    double begin = now();
    for (int i = 0; i < rounds; i++)
        result += work::round(breadth);
    double end = now();
#if defined(LOG)
    fclose(log_file);
    log_file = nullptr;
#endif
    printf("%lu\n", result);
    fprintf(stderr, "ns %.0f\n", end - begin);
    return 0;
}
