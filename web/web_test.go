package web_test

import (
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/belayrun/belay/web"
)

// The pages of the build load their scripts: their policy lets nothing inline
// run. REQUIRE_UI=1 says that there must be a build.
func TestPagesHaveNoScriptsOfTheirOwn(t *testing.T) {
	t.Parallel()
	pages, err := fs.Glob(web.Files(), "*.html")
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) == 0 {
		if os.Getenv("REQUIRE_UI") == "1" {
			t.Fatal("UI not built: make web")
		}
		t.Skip("UI not built: make web")
	}
	inline := regexp.MustCompile(`(?i)<script(\s+type="?module"?)?\s*>|\son[a-z]+\s*=|javascript:`)
	for _, name := range pages {
		b, err := fs.ReadFile(web.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		if found := inline.Find(b); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}
