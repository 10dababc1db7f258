package postgres_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/postgres/pgtest"
	"github.com/jackc/pgx/v5"
)

// statements returns the SQL constants of this package's source, by name.
func statements(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	consts := map[string]ast.Expr{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			collect(d, consts)
		}
	}
	isSQL := regexp.MustCompile(`(?i)^\s*(select|insert|update|delete|with)\s`)
	out := map[string]string{}
	for name, x := range consts {
		if s, ok := text(x, consts); ok && isSQL.MatchString(s) {
			out[name] = s
		}
	}
	return out
}

func collect(d ast.Decl, consts map[string]ast.Expr) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.CONST {
		return
	}
	for _, s := range g.Specs {
		v := s.(*ast.ValueSpec)
		for i, n := range v.Names {
			if i < len(v.Values) {
				consts[n.Name] = v.Values[i]
			}
		}
	}
}

// text evaluates a constant string expression.
func text(x ast.Expr, consts map[string]ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil && x.Kind == token.STRING
	case *ast.Ident:
		v, ok := consts[x.Name]
		if !ok {
			return "", false
		}
		return text(v, consts)
	case *ast.BinaryExpr:
		a, okA := text(x.X, consts)
		b, okB := text(x.Y, consts)
		return a + b, okA && okB
	}
	return "", false
}

func TestEveryStatementFitsTheSchema(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.DB(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	found := statements(t)
	if len(found) < 30 {
		t.Errorf("only %d statements found", len(found))
	}
	for name, sql := range found {
		sql, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, sql, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := conn.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
