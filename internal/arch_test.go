// Package internal_test holds what a machine can judge of the design: who may
// import whom, package docs, sizes, documented names, no globals. The rules
// are read from design and style; each violation is printed as file:line.
package internal_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	module       = "github.com/belayrun/belay"
	maxFuncLines = 90
	maxFileLines = 800
)

// doors speak one API dialect each; they share httpapi and never each other.
var doors = []string{"client", "responses", "assistants", "chat", "a2a", "studio", "portal"}

// badNames are package names that say nothing of what a package provides.
var badNames = []string{"util", "utils", "common", "store", "manager", "helper", "helpers", "background", "misc", "base"}

// wellKnown are methods whose contract is the standard library's: they need no
// words of their own.
var wellKnown = []string{
	"Error", "Unwrap", "Is", "As", "String", "GoString", "LogValue",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalYAML", "UnmarshalYAML",
	"Len", "Less", "Swap",
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	files, err := parseTree(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(files, func(f file) bool { return f.dir == "internal/agent" }) {
		t.Fatal("internal/agent was not read: the test looks at the wrong tree")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, v := range r.violations(files) {
				t.Error(v)
			}
		})
	}
}

// file is one parsed Go file.
type file struct {
	path, dir string // slashes, below the module's root
	ast       *ast.File
	fset      *token.FileSet
	test      bool
	generated bool
}

func (f file) at(p token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", f.path, f.fset.Position(p).Line, fmt.Sprintf(format, args...))
}

// helper reports whether the file belongs to a package made for tests only, as
// pgtest or turntest.
func (f file) helper() bool { return isHelper(f.dir) }

func isHelper(dir string) bool { return strings.HasSuffix(path.Base(dir), "test") }

// room returns the first folder below internal: postgres for
// internal/postgres/pgtest. Empty: the file is not below internal.
func room(dir string) string {
	rest, ok := strings.CutPrefix(dir, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func parseTree(tree fs.FS) ([]file, error) {
	var files []file
	fset := token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (name == "node_modules" || name == "testdata" || name[0] == '.' || name[0] == '_'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		src, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		a, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file{
			path: p, dir: path.Dir(p), ast: a, fset: fset,
			test: strings.HasSuffix(p, "_test.go"), generated: ast.IsGenerated(a),
		})
		return nil
	})
	return files, err
}

// rule finds violations in the files that it looks at.
type rule struct {
	name  string
	skip  func(file) bool // nil: looks at every file
	check func(file) []string
	all   func([]file) []string // instead of check: looks at the tree as a whole
}

func (r rule) violations(files []file) []string {
	if r.all != nil {
		return r.all(files)
	}
	var out []string
	for _, f := range files {
		if r.skip == nil || !r.skip(f) {
			out = append(out, r.check(f)...)
		}
	}
	return out
}

func testOrGenerated(f file) bool { return f.test || f.generated }

var rules = []rule{
	{name: "imports", check: checkImports},
	{name: "package docs and names", all: checkPackages},
	{name: "functions are short", skip: testOrGenerated, check: checkFunctions},
	{name: "files are short", skip: testOrGenerated, check: checkLength},
	{name: "exported names are documented", skip: testOrGenerated, check: checkDocs},
	{name: "no init", skip: testOrGenerated, check: checkInit},
	{name: "environment only in cmd", skip: func(f file) bool {
		return f.test || f.helper() || strings.HasPrefix(f.dir, "cmd/")
	}, check: checkEnvironment},
}

// checkImports holds arrows to their direction.
func checkImports(f file) []string {
	var out []string
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		why := ""
		if local, ok := strings.CutPrefix(p, module+"/"); ok {
			why = localImport(f, local)
		} else {
			why = foreignImport(f, p)
		}
		if why != "" {
			out = append(out, f.at(spec.Pos(), "imports %s: %s", p, why))
		}
	}
	return out
}

// localImport returns why f may not import a package of this module.
func localImport(f file, to string) string {
	from := room(f.dir)
	switch {
	case strings.HasPrefix(f.dir, "cmd/"):
		return ""
	case strings.HasPrefix(to, "cmd/"):
		return "nothing imports cmd"
	case isHelper(to) && (f.test || f.helper()):
		return ""
	case from == "":
		if f.test {
			return ""
		}
		return f.dir + " imports nothing of this module"
	case f.test && f.dir == "internal":
		return ""
	case from == "agent":
		return "agent imports the standard library only"
	case to == "internal/agent":
		return ""
	case from == "turn":
		return turnImport(f, to)
	case from == "httpapi":
		return doorImport(f, to)
	}
	return implementationImport(f, from, to)
}

func turnImport(f file, to string) string {
	if to == "internal/turn" && (f.helper() || f.test) || to == f.dir && f.test {
		return ""
	}
	return "turn imports agent only; the rest reaches it through its interfaces"
}

func doorImport(f file, to string) string {
	if f.test || to == "internal/turn" || to == "api" || strings.HasPrefix(to, "api/") {
		return "" // the tests of a door wire the real thing behind it
	}
	if room(to) != "httpapi" {
		return "httpapi and its doors import agent, turn and generated types; cmd/belay hands them the rest"
	}
	if other := door(to); other != "" && other != door(f.dir) {
		return "doors never import each other; what they share is httpapi's"
	}
	return ""
}

// door returns which door a folder belongs to, empty for what doors share.
func door(dir string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, "internal/httpapi/"), "/")
	if slices.Contains(doors, name) {
		return name
	}
	return ""
}

func implementationImport(f file, from, to string) string {
	switch {
	case room(to) == from && !isHelper(to):
		return ""
	case from == "postgres" && to == "migrations":
		return ""
	case to == "internal/turn" || strings.HasPrefix(to, "internal/turn/"):
		if f.test || f.helper() {
			return ""
		}
		return "implementations satisfy turn's interfaces by shape; only their tests import it"
	case isHelper(to):
		return "only tests import test helpers"
	}
	return "implementations import agent only and meet in cmd/belay"
}

// foreignImport returns why f may not import a package of another module.
func foreignImport(f file, p string) string {
	first, _, _ := strings.Cut(p, "/")
	switch {
	case p == "encoding/json/v2" || p == "encoding/json/jsontext":
		return "not yet"
	case strings.HasSuffix(p, "/prometheus/promauto"):
		return "metrics are registered on the Registerer that was passed"
	case !strings.Contains(first, ".") || f.test || f.helper():
		return ""
	case f.dir == "internal/agent":
		return "agent imports the standard library only"
	case f.dir == "internal/turn" && p != "golang.org/x/sync/errgroup":
		return "turn imports the standard library and errgroup only"
	}
	return ""
}

// checkPackages wants a package doc and a telling name of every package.
func checkPackages(files []file) []string {
	first := map[string]file{}
	documented := map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		if _, ok := first[f.dir]; !ok {
			first[f.dir] = f
		}
		name := f.ast.Name.Name
		if doc := f.ast.Doc.Text(); name == "main" && doc != "" || strings.HasPrefix(doc, "Package "+name+" ") {
			documented[f.dir] = true
		}
	}
	var out []string
	for dir, f := range first {
		name := f.ast.Name.Name
		if !documented[dir] {
			out = append(out, f.at(f.ast.Package, "package %s has no doc comment that begins with \"Package %s\"", dir, name))
		}
		if slices.Contains(badNames, name) {
			out = append(out, f.at(f.ast.Package, "package name %s does not say what it provides", name))
		}
	}
	slices.Sort(out)
	return out
}

func checkFunctions(f file) []string {
	var out []string
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
		if n > maxFuncLines {
			out = append(out, f.at(fn.Pos(), "%s has %d lines, more than %d", fn.Name.Name, n, maxFuncLines))
		}
	}
	return out
}

func checkLength(f file) []string {
	if n := f.fset.File(f.ast.Package).LineCount(); n > maxFileLines {
		return []string{f.at(f.ast.Package, "%d lines, more than %d", n, maxFileLines)}
	}
	return nil
}

func checkInit(f file) []string {
	var out []string
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, f.at(fn.Pos(), "init function: a constructor takes what it needs"))
		}
	}
	return out
}

func checkEnvironment(f file) []string {
	var out []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Getenv", "LookupEnv", "ExpandEnv"}, sel.Sel.Name) {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && importedAs(f, x.Name, "os", "syscall") {
			out = append(out, f.at(sel.Pos(), "%s.%s below cmd: take it in the Config", x.Name, sel.Sel.Name))
		}
		return true
	})
	return out
}

// importedAs reports whether name is how f calls one of the packages.
func importedAs(f file, name string, paths ...string) bool {
	return slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool {
		p, _ := strconv.Unquote(s.Path.Value)
		as := path.Base(p)
		if s.Name != nil {
			as = s.Name.Name
		}
		return as == name && slices.Contains(paths, p)
	})
}

// checkDocs wants a comment at every exported top-level name and method of a
// library package. One at a group of constants or variables stands for all.
func checkDocs(f file) []string {
	if f.ast.Name.Name == "main" {
		return nil
	}
	var out []string
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && needsDoc(d) {
				out = append(out, f.at(d.Pos(), "%s is exported and has no doc comment", d.Name.Name))
			}
		case *ast.GenDecl:
			out = append(out, undocumentedSpecs(f, d)...)
		}
	}
	return out
}

func needsDoc(fn *ast.FuncDecl) bool {
	if !fn.Name.IsExported() {
		return false
	}
	if fn.Recv == nil {
		return true
	}
	return ast.IsExported(receiver(fn)) && !slices.Contains(wellKnown, fn.Name.Name)
}

// receiver returns the name of a method's type.
func receiver(fn *ast.FuncDecl) string {
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func undocumentedSpecs(f file, d *ast.GenDecl) []string {
	var out []string
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			single := !d.Lparen.IsValid() && d.Doc != nil
			if s.Name.IsExported() && s.Doc == nil && !single {
				out = append(out, f.at(s.Pos(), "%s is exported and has no doc comment", s.Name.Name))
			}
		case *ast.ValueSpec:
			if cmp.Or(d.Doc, s.Doc, s.Comment) != nil {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					out = append(out, f.at(n.Pos(), "%s is exported and has no doc comment", n.Name))
				}
			}
		}
	}
	return out
}

// TestRulesSeeViolations breaks every rule once, and keeps it once nearby.
func TestRulesSeeViolations(t *testing.T) {
	t.Parallel()
	imports := func(name, doc string, paths ...string) string {
		var s strings.Builder
		s.WriteString(doc + "package " + name + "\n")
		for _, p := range paths {
			s.WriteString("import _ \"" + strings.Replace(p, "~", module, 1) + "\"\n")
		}
		return s.String()
	}
	const doc = "// Package %s is.\n"
	docOf := func(name string) string { return fmt.Sprintf(doc, name) }
	long := "\nfunc f() {\n" + strings.Repeat("\t_ = 1\n", maxFuncLines-1) + "}\n" // 91 lines with its braces

	for name, c := range map[string]struct {
		path, src string
		want      []string // path:line of each violation
	}{
		"agent, another module":         {"internal/agent/a.go", imports("agent", docOf("agent"), "fmt", "golang.org/x/sync/errgroup"), []string{"4"}},
		"agent, this module":            {"internal/agent/a.go", imports("agent", docOf("agent"), "~/internal/turn"), []string{"3"}},
		"turn, errgroup and agent":      {"internal/turn/a.go", imports("turn", docOf("turn"), "golang.org/x/sync/errgroup", "~/internal/agent"), nil},
		"turn, another module":          {"internal/turn/a.go", imports("turn", docOf("turn"), "github.com/jackc/pgx/v5"), []string{"3"}},
		"turn, an implementation":       {"internal/turn/a.go", imports("turn", docOf("turn"), "~/internal/postgres"), []string{"3"}},
		"turn, its helper":              {"internal/turn/a.go", imports("turn", docOf("turn"), "~/internal/turn/turntest"), []string{"3"}},
		"turn's test, its helper":       {"internal/turn/a_test.go", imports("turn_test", "", "~/internal/turn/turntest", "~/internal/turn"), nil},
		"turntest, turn":                {"internal/turn/turntest/a.go", imports("turntest", docOf("turntest"), "~/internal/turn", "pgregory.net/rapid"), nil},
		"postgres, agent and itself":    {"internal/postgres/a.go", imports("postgres", docOf("postgres"), "~/internal/agent", "~/internal/postgres/dev", "~/migrations", "github.com/jackc/pgx/v5"), nil},
		"postgres, turn":                {"internal/postgres/a.go", imports("postgres", docOf("postgres"), "~/internal/turn"), []string{"3"}},
		"postgres' test, turn":          {"internal/postgres/a_test.go", imports("postgres_test", "", "~/internal/turn", "~/internal/turn/turntest"), nil},
		"postgres' test, openai":        {"internal/postgres/a_test.go", imports("postgres_test", "", "~/internal/openai"), []string{"2"}},
		"openai, postgres":              {"internal/openai/a.go", imports("openai", docOf("openai"), "~/internal/postgres"), []string{"3"}},
		"openai, its helper":            {"internal/openai/a.go", imports("openai", docOf("openai"), "~/internal/openai/openaitest"), []string{"3"}},
		"callback's test, pgtest":       {"internal/callback/a_test.go", imports("callback_test", "", "~/internal/postgres/pgtest"), nil},
		"door, postgres":                {"internal/httpapi/client/a.go", imports("client", docOf("client"), "~/internal/postgres", "~/internal/metrics"), []string{"3", "4"}},
		"door's test, postgres":         {"internal/httpapi/client/a_test.go", imports("client_test", "", "~/internal/postgres"), nil},
		"door, what it may":             {"internal/httpapi/client/a.go", imports("client", docOf("client"), "~/internal/turn", "~/internal/agent", "~/internal/httpapi", "~/api"), nil},
		"door, another door":            {"internal/httpapi/client/a.go", imports("client", docOf("client"), "~/internal/httpapi/studio"), []string{"3"}},
		"web, internal":                 {"web/web.go", imports("web", docOf("web"), "~/internal/agent"), []string{"3"}},
		"cmd, all":                      {"cmd/belay/a.go", imports("main", "// Belay.\n", "~/internal/postgres", "~/internal/openai/openaitest"), nil},
		"promauto":                      {"internal/metrics/a.go", imports("metrics", docOf("metrics"), "github.com/prometheus/client_golang/prometheus/promauto"), []string{"3"}},
		"no package doc":                {"internal/openai/a.go", "package openai\n", []string{"1"}},
		"package doc of another name":   {"internal/openai/a.go", docOf("other") + "package openai\n", []string{"2"}},
		"package util":                  {"internal/util/a.go", docOf("util") + "package util\n", []string{"2"}},
		"function too long":             {"internal/openai/a.go", docOf("openai") + "package openai\n" + long, []string{"4"}},
		"function too long, in a test":  {"internal/openai/a_test.go", "package openai\n" + long, nil},
		"function too long, generated":  {"internal/openai/a.go", "// Code generated by x. DO NOT EDIT.\n\n" + docOf("openai") + "package openai\n" + long, nil},
		"file too long":                 {"internal/openai/a.go", docOf("openai") + "package openai\n" + strings.Repeat("\n", maxFileLines), []string{"2"}},
		"func without doc":              {"internal/openai/a.go", docOf("openai") + "package openai\n\nfunc F() {}\nfunc f() {}\n", []string{"4"}},
		"method without doc":            {"internal/openai/a.go", docOf("openai") + "package openai\n\n// T is.\ntype T[A any] struct{}\nfunc (*T[A]) M() {}\nfunc (T[A]) Error() string { return \"\" }\n", []string{"6"}},
		"type without doc":              {"internal/openai/a.go", docOf("openai") + "package openai\n\ntype T int\n", []string{"4"}},
		"types of a documented group":   {"internal/openai/a.go", docOf("openai") + "package openai\n\n// Types.\ntype (\n\tT int\n)\n", []string{"6"}},
		"constant without doc":          {"internal/openai/a.go", docOf("openai") + "package openai\n\nconst A, b = 1, 2\n// C is.\nconst C = 1\nconst D = 2 // D is.\n", []string{"4"}},
		"init":                          {"cmd/belay/a.go", "// Belay.\npackage main\n\nfunc init() {}\n", []string{"4"}},
		"environment":                   {"internal/openai/a.go", docOf("openai") + "package openai\n\nimport sys \"os\"\n\nvar key = sys.Getenv(\"KEY\")\n", []string{"6"}},
		"environment, in a test helper": {"internal/postgres/pgtest/a.go", docOf("pgtest") + "package pgtest\n\nimport \"os\"\n\nvar key = os.Getenv(\"KEY\")\n", nil},
		"environment, in cmd":           {"cmd/belay/a.go", "// Belay.\npackage main\n\nimport \"os\"\n\nvar key = os.Getenv(\"KEY\")\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := parseTree(fstest.MapFS{c.path: {Data: []byte(c.src)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rules {
				got = append(got, r.violations(files)...)
			}
			same := slices.EqualFunc(got, c.want, func(g, line string) bool {
				return strings.HasPrefix(g, c.path+":"+line+": ")
			})
			if !same {
				t.Errorf("violations %q, want them at lines %q", got, c.want)
			}
		})
	}
}
