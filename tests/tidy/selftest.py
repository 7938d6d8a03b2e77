#!/usr/bin/env python3
"""Shows that each rule of tidy.py finds what it is for, and lets pass what it should."""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import cpp_text
import tidy

# Built from pieces, so that this file passes the rules that it tests.
COMMENTED = "//" + " TEST(A, b) {}\n"
LONG_BODY = "  f();\n" * 69

# rule, path, text, the lines in which the rule must find something
BAD = [
    ("layering", "slots/a.cc", '#include "neli_core/b.h"\n', [1]),
    ("layering", "include/neliroute/a.h", '#include "slots/b.h"\n', [1]),
    ("layering", "include/neliroute/a.h", "#include <boost/json.hpp>\n", [1]),
    ("layering", "neli_core/a.cc", "#include <neliroute/clock.h>\n", [1]),
    ("layering", "slots/a.cc", "#include <neliroute/router.h>\n", [1]),
    ("flag", "router/a.cc", 'x();\nbad("lower --lease");\n', [2]),
    ("flag", "ledgers/kafka/tail/a.cc", 'bad("raise --timeout"  // or not\n', [1]),
    ("layering", "slots/a.cc", '#include <vector>\n#include <boost/json.hpp>\n', [2]),
    ("layering", "slots/a.cc", "#include <time.h>\n", [1]),
    ("layering", "slots/a.cc", '#include "a.h"\n', [1]),
    ("layering", "slots/a.cc", '#include "placement/b.h"\n', [1]),
    ("layering", "placement/a.cc", '#include "neli_core/b.h"\n', [1]),
    ("layering", "placement/a.cc", '#include "bench/placements/b.h"\n', [1]),
    ("layering", "bench/placements/hash/a.cc", '#include "tool/b.h"\n', [1]),
    ("layering", "bench/placements/a.cc", '#include "bench/placements/program/b.h"\n', [1]),
    ("layering", "router/a.cc", '#include "placement/b.h"\n', [1]),
    ("layering", "neli_core/a.cc", '#include "slots/b.h"\n', [1]),
    ("layering", "neli_core/a.cc", '#include "ledgers/kafka/b.h"\n', [1]),
    ("layering", "neli_core/a.h", "#include <boost/asio/post.hpp>\n", [1]),
    ("layering", "neli_core/a.h", "#include <librdkafka/rdkafka.h>\n", [1]),
    ("layering", "ledgers/kafka/a.h", '#include "slots/b.h"\n', [1]),
    ("layering", "ledgers/kafka/a.h", '#include "ledgers/memory/b.h"\n', [1]),
    ("layering", "ledgers/b.cc", '#include "ledgers/kafka/b.h"\n', [1]),
    ("layering", "router/a.cc", '#include "ledgers/kafka/b.h"\n', [1]),
    ("layering", "tool/a.cc", '#include "ledgers/memory/b.h"\n', [1]),
    ("layering", "neli_core/a.cc", '#include "neli_core/claimed/b.h"\n', [1]),
    ("layering", "neli_core/claimed/a.cc", '#include "neli_core/broadcast/b.h"\n', [1]),
    ("layering", "neli_core/claimed/a.cc", '#include "neli_core/assigner/b.h"\n', [1]),
    ("layering", "neli_core/claimed/a.cc", '#include "placement/b.h"\n', [1]),
    ("layering", "neli_core/assigner/a.cc", '#include "neli_core/claimed/b.h"\n', []),
    ("layering", "neli_core/assigner/a.cc", '#include "placement/b.h"\n', []),
    ("layering", "neli_core/assigner/a.cc", '#include "neli_core/broadcast/b.h"\n', [1]),
    ("layering", "neli_core/broadcast/a.cc", '#include "neli_core/claimed/b.h"\n', [1]),
    ("layering", "neli_core/a.cc", '#include "audit/b.h"\n', [1]),
    ("layering", "audit/a.cc", '#include "ledgers/kafka/b.h"\n', [1]),
    ("layering", "ledgers/kafka/a.h", '#include "router/b.h"\n', [1]),
    ("layering", "ledgers/kafka/a.h", '#include "embedded_broker/b.h"\n', [1]),
    ("layering", "embedded_broker/a.h", '#include "router/b.h"\n', [1]),
    ("layering", "router/a.h", '#include "embedded_broker/b.h"\n', [1]),
    ("layering", "router/a.cc", "#include <librdkafka/rdkafka.h>\n", [1]),
    ("layering", "router/a.cc", '#include "tool/b.h"\n', [1]),
    ("layering", "router/sub/a.cc", '#include "tests/b.h"\n', [1]),
    ("layering", "router/a.cc", '#include "admin/b.h"\n', [1]),
    ("layering", "router/a.cc", "#include <boost/beast/http.hpp>\n", [1]),
    ("layering", "router/a.cc", '#include "metrics/b.h"\n', [1]),
    ("layering", "metrics/a.cc", '#include "admin/b.h"\n', [1]),
    ("layering", "admin/a.cc", '#include "tool/b.h"\n', [1]),
    ("layering", "tool/a.cc", '#include "tests/b.h"\n', [1]),
    ("layering", "tool/a.cc", "#  include <librdkafka/rdkafka_mock.h>\n", [1]),
    ("layering", "examples/a.cc", '#include "tool/b.h"\n', [1]),
    ("impure", "slots/a.cc", "auto t = std::chrono::steady_clock::now();\n", [1]),
    ("impure", "placement/a.cc", "std::thread t;\n", [1]),
    ("impure", "bench/placements/kafka/a.cc", "std::thread t;\n", [1]),
    ("impure", "neli_core/claimed/a.cc", "std::thread t;\n", [1]),
    ("impure", "audit/a.cc", "std::thread t;\n", [1]),
    ("impure", "neli_core/a.cc", "auto t = time(nullptr);\n", [1]),
    ("impure", "neli_core/a.cc", "std::this_thread::sleep_for(d);\n", [1, 1]),
    ("impure", "neli_core/a.h", "std::thread t;\n", [1]),
    ("impure", "neli_core/a.h", "int a;\nstd::mutex m;\n", [2]),
    ("impure", "neli_core/a.h", "std::scoped_lock l{m};\n", [1]),
    ("impure", "neli_core/a.h", "std::random_device d;\n", [1]),
    ("impure", "neli_core/a.h", "int i = rand();\n", [1]),
    ("impure", "neli_core/a.cc", 'std::cout << "x";\n', [1]),
    ("impure", "slots/a.cc", 'fprintf(stderr, "x");  // tidy-allow(impure):\n', [1]),
    ("impure", "neli_core/a.cc",
     "std::unordered_map<int, int> seen_;\nfor (auto& [k, v] : this->seen_) {}\n", [2]),
    ("impure", "neli_core/a.cc",
     "void f(const std::unordered_set<int>& s) {\n  g(*s.begin());\n}\n", [2]),
    ("file-length", "tool/a.cc", "\n" * 501, [501]),
    ("file-length", "scripts/a", "#!/bin/sh\n" + "\n" * 500, [501]),
    ("function-length", "tool/a.cc", "int a;\nvoid f() {\n" + LONG_BODY + "}\n", [2]),
    ("function-length", "tool/a.cc", "A::A() : a_{1}, b_{2} {\n" + LONG_BODY + "}\n", [1]),
    ("function-length", "tool/a.cc",
     "class A {\n  int f(int a = {}) const {\n    if (a) {\n" + LONG_BODY + "    }\n  }\n};\n",
     [2]),
    ("function-length", "tool/a.py", "def f():\n" + "    g()\n" * 70, [1]),
    ("line-length", "tool/a.cc", "//\n//" + "x" * 99 + "\n", [2]),
    ("line-length", "tests/CMakeLists.txt", "#" * 101 + "\n", [1]),
    ("whitespace", "tool/a.cc", "int a; \n", [1]),
    ("whitespace", "tool/a.cc", "int a;\r\n", [1]),
    ("whitespace", "tool/a.cc", "\n\tint a;\n", [2]),
    ("whitespace", "tool/a.cc", "int a;", [1]),
    ("skipped-test", "tests/unit/a.cc", "TEST(A, DISABLED_b) {}\n", [1]),
    ("skipped-test", "tests/unit/a.cc", "TEST(A, b) {\n  GTEST_SKIP();\n}\n", [2]),
    ("skipped-test", "tests/unit/a.cc", COMMENTED, [1]),
    ("skipped-test", "tests/kafka/a.py", "@unittest" + ".skip\ndef f(): pass\n", [1]),
    ("skipped-test", "tests/kafka/a.py", "# def " + "test_a(self):\n", [1]),
    ("host", "scripts/a", "npm --registry https://registry.npmjs" + ".org\n", [1]),
    ("host", "docs/a.md", "see pypi" + ".org\n", [1]),
    ("host", "pom.xml", "<url>https://repo1" + ".maven.org</url>\n", [1]),
]

GOOD = [
    ("include/neliroute/a.h", "#include <boost/system/result.hpp>\n#include <neliroute/ids.h>\n"),
    ("slots/a.cc", "#include <neliroute/ids.h>\n"),
    ("bench/placements/a.cc", '#include "placement/b.h"\n#include "bench/placements/hash/b.h"\n'),
    ("bench/placements/program/a.cc", '#include "tool/b.h"\n#include <unistd.h>\nstd::thread t;\n'),
    ("router/a.cc", "#include <neliroute/clock.h>\n"),
    ("slots/a.h", '#include <cstdint>\n#include "slots/b.h"\n#include <xxhash.h>\n'),
    ("neli_core/a.h", '#include <boost/system/result.hpp>\n#include "neli_core/b.h"\n'),
    ("ledgers/kafka/a.cc", '#include "neli_core/b.h"\n#include <librdkafka/rdkafka.h>\n'),
    ("router/a.cc", '#include "ledgers/b.h"\n#include "slots/b.h"\n'),
    ("ledgers/ledgers.cc", '#include "ledgers/kafka/b.h"\n#include "ledgers/memory/b.h"\n'),
    ("tests/unit/kafka/a.cc", "#include <librdkafka/rdkafka.h>\n"),
    ("examples/a.cc", "#include <librdkafka/rdkafka.h>\n"),
    ("neli_core/a.cc", '// #include "slots/b.h"\nauto a = "std::mutex";  // rand()\n'),
    ("neli_core/a.cc", "Time now() const;\nvoid tick(Time now);\nauto x = time(slot);\n"),
    ("neli_core/a.cc", 'fprintf(stderr, "x");  // tidy-allow(impure): the last words\n'),
    ("neli_core/a.cc", "std::unordered_map<int, int> s_;\nstd::map<int, int> m_;\n"
                       "void f() {\n  for (auto& x : m_) s_.find(x);\n}\n"),
    ("router/a.cc", "std::mutex m;\nauto t = Clock::now();\n"),
    ("tool/a.cc", "\n" * 500),
    ("tool/a.cc", "void f() {\n" + LONG_BODY[:-7] + "}\n"),
    ("tool/a.cc", "namespace a {\n" + "void f() {}\n" * 80 + "}\n"),
    ("tool/a.cc", "const int a[] = {\n" + "  1,\n" * 80 + "};\n"),
    ("docs/a.md", "x" * 200 + " \n"),
    ("tests/unit/a.cc", "// TEST what the seeds say.\nTEST(A, b) {}\n"),
]


class Rules(unittest.TestCase):
    def test_every_rule_finds_what_is_bad(self):
        for rule, path, text, lines in BAD:
            with self.subTest(rule=rule, path=path, text=text[:60]):
                found = [line for line, name, _ in tidy.check(tidy.File(path, text))
                         if name == rule]
                self.assertEqual(found, lines)

    def test_every_rule_has_a_bad_example(self):
        self.assertEqual({rule for rule, *_ in BAD}, set(tidy.RULES))

    def test_what_is_good_passes(self):
        for path, text in GOOD:
            with self.subTest(path=path, text=text[:60]):
                self.assertEqual(tidy.check(tidy.File(path, text)), [])


class CppText(unittest.TestCase):
    def test_literals_and_comments_are_not_code(self):
        text = 'a("x\\"y", \'"\', 1\'000, R"q(")z)q", /* { */ u8"{"); // }\n'
        code = cpp_text.code_of(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.split(), ["a(", ",", ",", "1'000,", ",", "u8", ");"])

    def test_functions(self):
        text = textwrap.dedent("""\
            #define M(x) \\
              { x }
            namespace a {
            template <class T, class U = T>
              requires(sizeof(T) > 1)
            auto f(T t = {}, U u = U{1}) noexcept(true) -> int {
              auto g = [&](int x) { return x; };
              struct Local { void inner() {} };
              return g(1);
            }
            struct S : B<(1 > 0)> {
              S() : B{}, a_{f({1, 2})}, b_(2) { c(); }
              ~S() = default;
              bool operator==(const S&) const { return true; }
              int a_{3};
            };
            int table[] = {1, 2};
            }  // namespace a
            """)
        found = [(f.line, f.lines, f.name) for f in cpp_text.functions_of(text)]
        self.assertEqual(found, [(4, 7, "f"), (12, 1, "S"), (14, 1, "operator==")])


class Commands(unittest.TestCase):
    """The commands themselves, on a small project: what is found, and the exit code."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/build/\n")
        self.write("build/ignored.cc", "\t")
        self.write("slots/a.h", "#pragma once\n#include <string>\nstd::string f();\n")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def tidy(self, *arguments):
        return subprocess.run([sys.executable, tidy.__file__, *arguments],
                              capture_output=True, text=True, check=False)

    def test_rules(self):
        good = self.tidy("rules", self.root)
        self.assertEqual((good.returncode, good.stdout), (0, "tidy: 2 files, 0 findings\n"))
        self.write("slots/b.cc", "int a;\nstd::mutex m;\n")
        bad = self.tidy("rules", self.root)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("slots/b.cc:2: impure: slots has threads or locks: std::mutex\n", bad.stdout)

    def test_a_folder_of_too_many_files(self):
        for number in range(tidy.FOLDER_FILES - 1):  # with a.h, as many as there may be
            self.write(f"slots/n{number}.cc", "int f();\n")
        self.write("slots/notes.txt", "not code\n")
        self.assertEqual(self.tidy("rules", self.root).returncode, 0)
        self.write("slots/one_more.cc", "int f();\n")
        bad = self.tidy("rules", self.root)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("slots:1: folder: has 26 files of code, more than 25\n", bad.stdout)

    def test_a_chain_of_headers_to_librdkafka(self):
        self.write("ledgers/kafka/a.h", "#include <librdkafka/rdkafka.h>\n")
        self.write("ledgers/kafka/b.h",
                   '#include "ledgers/kafka/a.h"\n#include "ledgers/kafka/c.h"\n')
        self.write("ledgers/kafka/c.h", '#include "ledgers/kafka/b.h"\n')
        self.write("embedded_broker/a.cc", '#include "ledgers/kafka/b.h"\n')
        self.write("router/a.cc", '#include "ledgers/d.h"\n// #include "ledgers/kafka/b.h"\n')
        self.write("ledgers/kafka/d.cc", '#include "ledgers/kafka/c.h"\n')
        self.write("ledgers/d.h", "struct Client;\n")
        self.assertEqual(self.tidy("rules", self.root).returncode, 0)
        for room in ("router", "metrics", "admin", "forward", "tool"):
            self.write(f"{room}/b.h", '#include <string>\n#include "ledgers/kafka/c.h"\n')
            self.write(f"{room}/b.cc", f'#include "{room}/b.h"\n')
            bad = self.tidy("rules", self.root)
            self.assertEqual(bad.returncode, 1)
            self.assertIn(f"{room}/b.h:2: layering: reaches <librdkafka/rdkafka.h> by "
                          "ledgers/kafka/c.h, "
                          "ledgers/kafka/b.h, ledgers/kafka/a.h\n", bad.stdout)
            # b.h's, once, beside that it names a store.
            self.assertIn(" 2 findings\n", bad.stdout)
            (self.root / room / "b.h").unlink()

    def test_a_page_that_names_a_test(self):
        self.write("tests/a_test.cc", "TEST_F(Epoch,\n       never_falls) {}\nTEST(B, c) {}\n")
        self.write("docs/a.md", "(`Epoch.never_falls`, `B.c`; `README.md`, `timing.lease`)\n")
        self.assertEqual(self.tidy("rules", self.root).returncode, 0)
        self.write("tests/b.md", "as before\n`B.c` and `Epoch.c` show\n")
        bad = self.tidy("rules", self.root)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("tests/b.md:2: unknown-test: no test in tests/ is named `Epoch.c`\n",
                      bad.stdout)
        self.assertIn(" 1 findings\n", bad.stdout)

    def test_headers(self):
        build = ["--build", self.root / "build/headers"]
        good = self.tidy("headers", self.root, *build)
        self.assertEqual((good.returncode, good.stdout), (0, "tidy: 1 headers, 0 findings\n"))
        self.write("slots/b.h", "#pragma once\nstd::string g();\n")
        bad = self.tidy("headers", self.root, *build)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("slots/b.h:1: header: does not compile alone\n", bad.stdout)
        excused = self.tidy("headers", self.root, *build, "--", "-include", "string")
        self.assertEqual(excused.returncode, 0)
        self.write("include/c.h", "#pragma once\n")
        one = self.tidy("headers", self.root, *build, "--only", "include")
        self.assertEqual((one.returncode, one.stdout), (0, "tidy: 1 headers, 0 findings\n"))
        none = self.tidy("headers", self.root, *build, "--only", "slot")
        self.assertEqual(none.returncode, 1)
        self.assertIn("no headers in slot/", none.stderr)

    def test_a_header_is_given_only_what_it_includes(self):
        self.write("slots/all.h", "#pragma once\n#include <functional>\n#include <string>\n"
                   "#include <vector>\n")
        self.write("slots/by_way.h", '#pragma once\n#include "slots/all.h"\n'
                   "std::vector<std::string> g();\n")
        build = ["--build", self.root / "build/headers"]
        good = self.tidy("headers", self.root, *build)
        self.assertEqual((good.returncode, good.stdout), (0, "tidy: 3 headers, 0 findings\n"))
        self.write("slots/a.h", "#pragma once\n#include <string>\nstd::function<void()> f();\n")
        bad = self.tidy("headers", self.root, *build)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("slots/a.h:1: header: does not compile alone\n", bad.stdout)

    def test_what_a_header_includes_by_way_of_others(self):
        files = {path: tidy.File(path, text) for path, text in {
            "slots/a.h": '#include "slots/b.h"\n#include <string>\n',
            "slots/b.h": '#include "slots/a.h"\n#include <vector>\n// #include <map>\n'}.items()}
        found = tidy.Included(files)
        self.assertEqual(found.foreign["slots/a.h"], {"string", "vector"})
        self.assertEqual(found.ours["slots/a.h"], {"slots/b.h"})
        self.assertEqual(tidy.DEAR[found.dear_part("slots/a.h")], ("string",))
        found = tidy.Included({"slots/c.h": tidy.File("slots/c.h", "#include <vector>\n")})
        self.assertIsNone(found.dear_part("slots/c.h"))

    def test_headers_are_compiled_together_only_where_one_includes_the_other(self):
        files = {path: tidy.File(path, text) for path, text in {
            "slots/a.h": "#include <string>\n",
            "slots/b.h": '#include "slots/a.h"\n',
            "slots/c.h": '#include "slots/b.h"\n#include <vector>\n',
            "slots/d.h": '#include "slots/a.h"\n',
            "slots/e.h": '#include "slots/f.h"\n#include <string>\n',
            "slots/f.h": ""}.items()}
        self.assertEqual(tidy.Included(files).chains(), [
            ["slots/a.h", "slots/b.h", "slots/c.h"], ["slots/d.h"],
            ["slots/e.h"], ["slots/f.h"]])  # e.h finds <string> precompiled, f.h must not


if __name__ == "__main__":
    unittest.main()
