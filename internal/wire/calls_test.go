package wire

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"pennypost/internal/mail"
)

// recorder records the route of a call.
type recorder struct{ route *Route }

func (r *recorder) Carry(_ context.Context, route *Route, _, _ any, _ func(mail.Service) error) error {
	r.route = route
	return nil
}

// TestEveryMethodIsACall checks that each method of mail.Service has a row of its own name and route in the table,
// and that Stub makes that call. Streams are not methods of Stub.
func TestEveryMethodIsACall(t *testing.T) {
	routes := map[string]string{}
	note := func(r *Route) {
		key := r.Method + " " + r.Path
		if other := routes[key]; other != "" || r.About == "" {
			t.Errorf("the route %s of %s is also that of %q; it is for: %q", key, r.ID, other, r.About)
		}
		routes[key] = r.ID
	}
	note(&EventsRoute)
	note(&ExportRoute)
	note(&RingRoute)
	streams := map[string]bool{"Watch": true, "Export": true}
	for want := range reflect.TypeFor[mail.Service]().Methods() {
		var got recorder
		method := reflect.ValueOf(Stub{Carrier: &got}).MethodByName(want.Name)
		switch {
		case streams[want.Name]:
			if method.IsValid() {
				t.Errorf("Stub.%s: a stream is no call", want.Name)
			}
			continue
		case !method.IsValid():
			t.Errorf("Stub has no %s: make it a row of the table, and a method of Stub", want.Name)
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < method.Type().NumIn(); i++ {
			args = append(args, reflect.Zero(method.Type().In(i)))
		}
		method.Call(args)
		id := strings.Replace(lowerFirst(want.Name), "status", "room", 1) // "status" is the call of the post office
		if got.route == nil || got.route.ID != id {
			t.Errorf("Stub.%s makes the call %+v, want %s", want.Name, got.route, id)
			continue
		}
		note(got.route)
	}
}

func lowerFirst(s string) string { return string(unicode.ToLower(rune(s[0]))) + s[1:] }
