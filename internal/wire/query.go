package wire

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// Param is a field of a struct that is a URL parameter, according to its tag query.
type Param struct {
	Name  string
	About string       // for the OpenAPI document
	Type  reflect.Type // of the field; of its target, if zero differs from absent
	Index []int        // of the field, for reflect
}

// Params lists the parameters of a struct, including those of embedded ones.
func Params(t reflect.Type) []Param {
	var all []Param
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("query"); name != "" {
			typ := f.Type
			if typ.Kind() == reflect.Pointer {
				typ = typ.Elem()
			}
			all = append(all, Param{name, f.Tag.Get("about"), typ, f.Index})
		}
	}
	return all
}

// Query writes a struct as a query. Zero values are left out.
func Query(v any) url.Values {
	q := make(url.Values)
	s := reflect.ValueOf(v)
	for _, p := range Params(s.Type()) {
		f := s.FieldByIndex(p.Index)
		if f.IsZero() {
			continue
		}
		if f = reflect.Indirect(f); f.Kind() != reflect.Slice {
			q.Set(p.Name, fmt.Sprint(f))
			continue
		}
		words := make([]string, f.Len())
		for i := range words {
			words[i] = f.Index(i).String()
		}
		q.Set(p.Name, strings.Join(words, ","))
	}
	return q
}
