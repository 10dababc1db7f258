package manifest

import (
	"reflect"
	"slices"
	"strings"
)

// suggestField says which field may have been meant, or which there are.
func suggestField(name string, t reflect.Type) string {
	names := fieldNames(t)
	if s := didYouMean(name, names); s != "" {
		return s
	}
	for f := range t.Fields() {
		within := f.Type
		if within.Kind() == reflect.Pointer {
			within = within.Elem()
		}
		if within.Kind() != reflect.Struct || yamlName(f) == "" {
			continue
		}
		if s := closest(name, fieldNames(within)); s != "" {
			return ", did you mean " + yamlName(f) + "." + s + "?"
		}
	}
	return "; there are " + strings.Join(names, ", ")
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for field := range t.Fields() {
		if n := yamlName(field); n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// didYouMean is the end of an error about a word that is not one of words.
func didYouMean(word string, words []string) string {
	if s := closest(word, words); s != "" {
		return ", did you mean " + s + "?"
	}
	return ""
}

// closest returns the word that is spelled most like another, empty where none
// is like it: the same but for case and separators, or a slip or two.
func closest(word string, words []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", 3
	for _, w := range words {
		d := distance(plain(word), plain(w))
		if d < least && d <= len(w)/3 {
			best, least = w, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance counts the letters to insert, delete, replace or swap with the next
// between two words.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
