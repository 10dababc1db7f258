package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// ReadJSON reads a request's body, one JSON object, into dst, which points to a
// struct. What is wrong is an error that names the field and says what would be
// right: a name that dst does not have, a value of another type, anything after
// the object. null is as if the field was not there. Content-Type is not looked
// at: a caller without a token gets nowhere.
func ReadJSON(r *http.Request, dst any) error {
	b, err := readBody(r)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return badBody("The body is empty: send a JSON object.")
	}
	return Decode(b, "", dst)
}

// ReadOptionalJSON is ReadJSON for routes that need no body.
func ReadOptionalJSON(r *http.Request, dst any) error {
	b, err := readBody(r)
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return err
	}
	return Decode(b, "", dst)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return b, nil
}

func badBody(message string) error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: message}
}

// Decode decodes a JSON value into dst as ReadJSON does; path is what the value
// is called in errors, empty for the body itself.
func Decode(b []byte, path string, dst any) error {
	tree, err := parse(b)
	if err != nil {
		return err
	}
	if err := check(tree, reflect.TypeOf(dst).Elem(), path); err != nil {
		return err
	}
	if err := json.Unmarshal(b, dst); err != nil {
		return Invalid(path, "can't be read: %v", err)
	}
	return nil
}

func parse(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, badBody(fmt.Sprintf("The body is not JSON: %s at byte %d.", s.Error(), s.Offset))
		}
		return nil, badBody("The body is not JSON: it ends too early.")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badBody("The body has something after its JSON value.")
	}
	return tree, nil
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

// check compares a JSON value with the Go type that it shall be decoded into.
func check(v any, t reflect.Type, path string) error {
	if v == nil && path != "" {
		return nil
	}
	if t == rawType {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return check(v, t.Elem(), path)
	case reflect.Struct:
		return checkObject(v, t, path)
	case reflect.Map:
		return checkMap(v, t, path)
	case reflect.Slice:
		return checkList(v, t, path)
	case reflect.Interface:
		return nil
	}
	return checkScalar(v, t, path)
}

func checkObject(v any, t reflect.Type, path string) error {
	if t == timeType {
		return checkScalar(v, reflect.TypeFor[string](), path)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return wrongType(v, "an object", path)
	}
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		ft, known := fields[name]
		if !known {
			return Invalid(join(path, name), "is not a field here; there are %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if err := check(m[name], ft, join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf returns the JSON names of a struct's fields and their types.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := make(map[string]reflect.Type, t.NumField())
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			out[name] = f.Type
		}
	}
	return out
}

func checkMap(v any, t reflect.Type, path string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return wrongType(v, "an object", path)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] == nil && t.Elem().Kind() != reflect.Interface {
			return wrongType(nil, describe(t.Elem()), join(path, name))
		}
		if err := check(m[name], t.Elem(), join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

func checkList(v any, t reflect.Type, path string) error {
	list, ok := v.([]any)
	if !ok {
		return wrongType(v, "a list", path)
	}
	for i, x := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if x == nil && t.Elem() != rawType {
			return wrongType(x, describe(t.Elem()), at)
		}
		if err := check(x, t.Elem(), at); err != nil {
			return err
		}
	}
	return nil
}

func checkScalar(v any, t reflect.Type, path string) error {
	ok := false
	switch v := v.(type) {
	case string:
		ok = t.Kind() == reflect.String
	case bool:
		ok = t.Kind() == reflect.Bool
	case json.Number:
		ok = fits(v, t)
	}
	if !ok {
		return wrongType(v, describe(t), path)
	}
	return nil
}

// fits reports whether a number can be held by a type without loss of its
// integer part.
func fits(n json.Number, t reflect.Type) bool {
	if t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32 {
		f, err := n.Float64()
		return err == nil && !math.IsInf(f, 0)
	}
	i, err := n.Int64()
	return err == nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 && !reflect.Zero(t).OverflowInt(i)
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return describe(t.Elem())
	}
	return "a whole number"
}

func wrongType(v any, want, path string) error {
	got := "an object"
	switch v := v.(type) {
	case nil:
		got = "null"
	case string:
		got = "a string"
	case bool:
		got = "a boolean"
	case json.Number:
		got = "the number " + clip(v.String())
	case []any:
		got = "a list"
	}
	if path == "" {
		return badBody("The body must be " + want + ", not " + got + ".")
	}
	return &agent.FieldError{Field: path, Message: "must be " + want + ", not " + got}
}

func clip(s string) string {
	if len(s) > 24 {
		return s[:24] + "…"
	}
	return s
}

// join names a field within path. A name may be anything a caller sent.
func join(path, name string) string {
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
