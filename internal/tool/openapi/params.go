package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// decode reads JSON without changing its numbers.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// url is where a call goes to: its arguments of path and query filled in.
func (op *operation) url(base string, given map[string]json.RawMessage) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("the base URL can't be read")
	}
	path := op.path
	query := u.Query()
	for _, p := range op.params {
		v, ok, err := p.value(given)
		if err != nil {
			return "", err
		}
		switch {
		case !ok:
		case p.in == "path":
			text := p.path(v)
			if text == "" || text == "." || text == ".." {
				return "", fmt.Errorf("%s: %q can't be part of a path", p.argument, text)
			}
			path = strings.ReplaceAll(path, "{"+p.name+"}", text)
		case p.in == "query":
			p.addQuery(query, v)
		}
	}
	full, err := url.Parse(strings.TrimSuffix(u.EscapedPath(), "/") + "/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		return "", fmt.Errorf("the path can't be read")
	}
	u.Path, u.RawPath, u.RawQuery, u.Fragment = full.Path, full.RawPath, query.Encode(), ""
	return u.String(), nil
}

// headers sets the arguments that go there and to cookies.
func (op *operation) headers(req *http.Request, given map[string]json.RawMessage) error {
	for _, p := range op.params {
		v, ok, err := p.value(given)
		if err != nil {
			return err
		}
		switch {
		case !ok:
		case p.in == "header":
			text := joined(v, ",", p.explode)
			if strings.ContainsAny(text, "\r\n\x00") {
				return fmt.Errorf("%s: must be one line", p.argument)
			}
			req.Header.Set(p.name, text)
		case p.in == "cookie":
			req.AddCookie(&http.Cookie{Name: p.name, Value: url.QueryEscape(joined(v, ",", p.explode))})
		}
	}
	return nil
}

// value is an argument as it was given; false: it was not, or as null.
func (p param) value(given map[string]json.RawMessage) (any, bool, error) {
	raw, ok := given[p.argument]
	if !ok {
		return nil, false, nil
	}
	v, err := decode(raw)
	if err != nil {
		return nil, false, fmt.Errorf("%s: is not JSON", p.argument)
	}
	if p.json {
		return string(raw), true, nil
	}
	return v, v != nil, nil
}

// path is an argument as part of a path, in the styles simple, label and matrix.
func (p param) path(v any) string {
	const safe = "," // between values, which are escaped each
	switch p.style {
	case "label":
		sep := safe
		if p.explode {
			sep = "."
		}
		return "." + escaped(v, sep, p.explode)
	case "matrix":
		name := ";" + url.PathEscape(p.name) + "="
		if list, ok := v.([]any); ok && p.explode {
			var b strings.Builder
			for _, item := range list {
				b.WriteString(name + url.PathEscape(scalar(item)))
			}
			return b.String()
		}
		if _, ok := v.(map[string]any); ok && p.explode {
			return ";" + escaped(v, ";", true)
		}
		return name + escaped(v, safe, false)
	}
	return escaped(v, safe, p.explode)
}

func (p param) addQuery(query url.Values, v any) {
	switch t := v.(type) {
	case []any:
		if p.explode {
			for _, item := range t {
				query.Add(p.name, scalar(item))
			}
			return
		}
		sep, ok := map[string]string{"spaceDelimited": " ", "pipeDelimited": "|"}[p.style]
		if !ok {
			sep = ","
		}
		query.Add(p.name, joined(v, sep, false))
	case map[string]any:
		switch {
		case p.style == "deepObject":
			addDeep(query, p.name, t)
		case p.explode:
			for _, name := range slices.Sorted(maps.Keys(t)) {
				addForm(query, name, t[name])
			}
		default:
			query.Add(p.name, joined(v, ",", false))
		}
	default:
		query.Add(p.name, scalar(v))
	}
}

// addDeep writes name[field]=value, for fields within fields too.
func addDeep(query url.Values, name string, fields map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		at := name + "[" + k + "]"
		if within, ok := fields[k].(map[string]any); ok {
			addDeep(query, at, within)
			continue
		}
		addForm(query, at, fields[k])
	}
}

// addForm writes a list as its name many times, and anything deeper as JSON.
func addForm(form url.Values, name string, v any) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		form.Add(name, scalar(item))
	}
}

// parts are the texts that a list or an object is written as.
func parts(v any, explode bool) []string {
	var out []string
	switch t := v.(type) {
	case []any:
		for _, item := range t {
			out = append(out, scalar(item))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if explode {
				out = append(out, name+"="+scalar(t[name]))
			} else {
				out = append(out, name, scalar(t[name]))
			}
		}
	default:
		out = append(out, scalar(v))
	}
	return out
}

func joined(v any, sep string, explode bool) string { return strings.Join(parts(v, explode), sep) }

func escaped(v any, sep string, explode bool) string {
	texts := parts(v, explode)
	for i, t := range texts {
		name, value, ok := strings.Cut(t, "=")
		if _, object := v.(map[string]any); object && explode && ok {
			texts[i] = url.PathEscape(name) + "=" + url.PathEscape(value)
		} else {
			texts[i] = url.PathEscape(t)
		}
	}
	return strings.Join(texts, sep)
}

// scalar writes one value: text as it is, all else as JSON has it.
func scalar(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case json.Number:
		return t.String()
	case nil:
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
