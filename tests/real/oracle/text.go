package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"text/template"
	"time"

	sprig2 "github.com/Masterminds/sprig"
	sprig3 "github.com/Masterminds/sprig/v3"
)

// textCase is a case of text/template. Functions is "", "test", "sprig2" or "sprig3".
type textCase struct {
	Name      string            `json:"name"`
	Template  string            `json:"template"`
	More      map[string]string `json:"more"` // templates parsed after it, in no order
	Delims    []string          `json:"delims"`
	Option    string            `json:"option"`
	Functions string            `json:"functions"`
	Data      json.RawMessage   `json:"data"`
}

func text(raw json.RawMessage) (string, error) {
	var c textCase
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", err
	}
	data, err := decode(c.Data)
	if err != nil {
		return "", err
	}
	parsed, err := parse(c)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, data)
	return out.String(), err
}

func parse(c textCase) (*template.Template, error) {
	if c.Name == "" {
		c.Name = "t"
	}
	t := template.New(c.Name)
	if len(c.Delims) == 2 {
		t.Delims(c.Delims[0], c.Delims[1])
	}
	if c.Option != "" {
		t.Option(c.Option)
	}
	switch c.Functions {
	case "test":
		t.Funcs(testFunctions)
	case "sprig2":
		t.Funcs(sprig2.TxtFuncMap())
	case "sprig3":
		t.Funcs(sprig3.TxtFuncMap())
	}
	if _, err := t.Parse(c.Template); err != nil {
		return nil, err
	}
	for name, more := range c.More {
		if _, err := t.New(name).Parse(more); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Thing, Bag, Set and time.Duration represent host objects: pointers to structs, maps, lists and numbers, all with methods.
type Thing struct {
	Name  string
	Count int
	Tags  []string
	Inner *Inner
	Any   any
}

type Inner struct{ Deep string }

func (t *Thing) Greet(who string) string          { return t.Name + " greets " + who }
func (t *Thing) Fail(text string) (string, error) { return "", fmt.Errorf("no %s", text) }
func (t Thing) Sum(numbers ...int) int            { return len(numbers) + t.Count }
func (t *Thing) Self() *Thing                     { return t }
func (i Inner) String() string                    { return "inner " + i.Deep }

type Bag map[string]any

func (b Bag) Size() int           { return len(b) }
func (b Bag) Has(key string) bool { _, ok := b[key]; return ok }

type Set []string

func (s Set) Has(key string) bool { return slices.Contains(s, key) }

// testFunctions cover every kind of parameter and result. The tests define the same functions in Rust.
var testFunctions = template.FuncMap{
	"add":     func(a, b int) int { return a + b },
	"dec":     func(n int) int { return n - 1 },
	"dict":    func() map[string]any { return map[string]any{} },
	"set":     func(m map[string]any, key string, value any) map[string]any { m[key] = value; return m },
	"list":    func(items ...any) []any { return items },
	"strs":    func(items ...string) []string { return items },
	"same":    func(value any) any { return value },
	"fail":    func(text string) (string, error) { return "", fmt.Errorf("%s", text) },
	"bool":    func(b bool) bool { return b },
	"i8":      func(n int8) int8 { return n },
	"i32":     func(n int32) int32 { return n },
	"i64":     func(n int64) int64 { return n },
	"u8":      func(n uint8) uint8 { return n },
	"u":       func(n uint) uint { return n },
	"u64":     func(n uint64) uint64 { return n },
	"f32":     func(n float32) float32 { return n },
	"f64":     func(n float64) float64 { return n },
	"c128":    func(n complex128) complex128 { return n },
	"str":     func(s string) string { return s },
	"raw":     func(s string) []byte { return []byte(s) },
	"keys":    func(m map[string]any) int { return len(m) },
	"slen":    func(s []string) int { return len(s) },
	"nilmap":  func() map[string]any { return nil },
	"nillist": func() []any { return nil },
	"nothing": func() any { return nil },
	"two":     func(a string, rest ...int) string { return fmt.Sprint(a, rest) },
	"adder":   func() func(int, int) int { return func(a, b int) int { return a + b } },
	"joiner": func() func(string, ...string) string {
		return func(a string, b ...string) string { return a + strings.Join(b, a) }
	},
	"seq": func(n int) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i := range n {
				if !yield(i * 10) {
					return
				}
			}
		}
	},
	"thing": func(name string) *Thing { return &Thing{Name: name, Count: 2, Tags: []string{"x"}, Inner: &Inner{"d"}} },
	"flat":  func(name string) Thing { return Thing{Name: name} },
	"bag":   func() Bag { return Bag{"a": 1, "Size": "hidden"} },
	"tags":  func(items ...string) Set { return items },
	"span":  func(n int64) time.Duration { return time.Duration(n) },
	"pairs": func(n int) iter.Seq2[int, string] {
		return func(yield func(int, string) bool) {
			for i := range n {
				if !yield(i, strings.Repeat("x", i)) {
					return
				}
			}
		}
	},
}
