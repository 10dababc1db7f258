// Package web holds the user interface as it was built: Studio, the page of a
// portal and the embed.
package web

import (
	"embed"
	"io/fs"
)

// The build is not in the repository; without it there is .gitkeep alone, so that
// this compiles on a bare clone.
//
//go:embed all:dist
var dist embed.FS

// Files returns what was built. It is empty but for .gitkeep where nothing was.
func Files() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: " + err.Error()) // the name is a constant and valid
	}
	return sub
}
