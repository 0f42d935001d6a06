package mailtest

import (
	"fmt"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// file returns a path in the tree of the tests.
func file(path string) mail.Target { return mail.Target{Root: "1-2", At: "/src", Path: path} }

func below(path string) mail.Target {
	t := file(path)
	t.Form = mail.BelowForm
	return t
}

// claim makes a request and describes its result: the claims now held, "| by AGENT: " and the clashes, "refused",
// and "freed " and the released claims.
func (s *suite) claim(as mail.Name, r mail.ClaimRequest) string {
	s.Helper()
	out, err := s.as(as).Claim(s.ctx, r)
	if err != nil {
		s.Errorf("%s claims %+v: %v", as, r, err)
	}
	var words []string
	for _, h := range out.Held {
		if h.Agent != as || h.Since == 0 {
			s.Errorf("%s is said to hold %+v", as, h)
		}
		words = append(words, h.Target.String())
	}
	for _, c := range out.Clashes {
		words = append(words, fmt.Sprintf("| by %s: %s", c.Held.Agent, c.Held.Target))
	}
	if out.Refused {
		words = append(words, "refused")
	}
	for _, h := range out.Freed {
		words = append(words, "freed "+h.Target.String())
	}
	return strings.Join(words, " ")
}

// wantClaims compares the list of claims, as everyone sees it.
func (s *suite) wantClaims(want ...string) {
	s.Helper()
	list, err := s.as("bob").Claims(s.ctx, mail.ClaimQuery{})
	if err != nil {
		s.Fatal(err)
	}
	got := []string{}
	for _, h := range list.Claims {
		got = append(got, fmt.Sprint(h.Agent, " ", h.Target))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.Errorf("held is %q, want %q", got, want)
	}
}

func (s *suite) want(got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("got %q, want %q", got, want)
	}
}

func take(targets ...mail.Target) mail.ClaimRequest { return mail.ClaimRequest{Take: targets} }

// oneHolder checks P15: overlapping targets have one holder, and a request is granted whole or not at all.
func oneHolder(s *suite) {
	s.turn("ann", mail.TurnStart, "s1")
	s.turn("bob", mail.TurnStart, "s2")
	port := mail.Target{Name: "port:8080"}
	s.want(s.claim("ann", take(below("parser"), port)), "parser/ port:8080")
	s.want(s.claim("ann", take(port)), "port:8080")
	s.want(s.claim("bob", take(file("parser/lex.go"), file("main.go"))), "| by ann: parser/")
	s.want(s.claim("bob", take(port)), "| by ann: port:8080")
	s.want(s.claim("bob", take(file("parsers.go"))), "parsers.go")
	elsewhere := file("parser/lex.go")
	elsewhere.Root = "1-3"
	s.want(s.claim("bob", take(elsewhere)), "parser/lex.go")
	s.wantClaims("ann parser/", "ann port:8080", "bob parser/lex.go", "bob parsers.go")

	shared := mail.ClaimRequest{Take: []mail.Target{{Name: "deploy:staging"}}, Shared: true}
	s.want(s.claim("ann", shared), "deploy:staging")
	s.want(s.claim("bob", shared), "deploy:staging")
	shared.Shared = false
	s.want(s.claim("bob", shared), "| by ann: deploy:staging")

	s.want(s.claim("bob", mail.ClaimRequest{Take: []mail.Target{port}, Look: true}), "| by ann: port:8080")
	s.want(s.claim("ann", mail.ClaimRequest{Free: []mail.Target{port, {Name: "build"}}}), "freed port:8080")
	s.want(s.claim("ann", mail.ClaimRequest{Free: []mail.Target{port}}), "")
	s.want(s.claim("bob", mail.ClaimRequest{Take: []mail.Target{port}, Look: true}), "")
	s.want(s.claim("bob", take(port)), "port:8080")
	glob := file("parser/*.go")
	glob.Form = mail.GlobForm
	s.want(s.claim("bob", take(glob)), "| by ann: parser/")
	s.want(s.claim("ann", mail.ClaimRequest{All: true}), "freed parser/ freed deploy:staging")
	s.wantClaims("bob parser/lex.go", "bob parsers.go", "bob deploy:staging", "bob port:8080")
}

// writesClaim checks that a write claims for its turn, that a clashing write proceeds under the default rule, and
// that both sides are told, once.
func writesClaim(s *suite) {
	s.turn("ann", mail.TurnStart, "s1")
	s.turn("bob", mail.TurnStart, "s2")
	write := func(paths ...string) mail.ClaimRequest {
		r := mail.ClaimRequest{Write: true}
		for _, p := range paths {
			r.Take = append(r.Take, file(p))
		}
		return r
	}
	s.want(s.claim("ann", write("a.go")), "a.go")
	for range 2 {
		s.want(s.claim("bob", write("a.go", "b.go")), "b.go | by ann: a.go")
	}
	for who, want := range map[mail.Name]string{"ann": "bob writes a.go, which you hold", "bob": "ann holds a.go, " +
		"which you write"} {
		page := s.inbox(who, mail.InboxQuery{})
		if len(page.Messages) != 1 || page.Messages[0].Subject != want || page.Messages[0].From != mail.FromSystem {
			s.Errorf("%s is told %+v, want %q", who, page.Messages, want)
		}
	}
	s.want(s.claim("ann", mail.ClaimRequest{All: true}), "freed a.go")
	s.want(s.claim("bob", write("a.go")), "a.go")
	s.wantClaims("bob a.go", "bob b.go")
}

// waitsForClaims checks that an agent waiting for another's claim is stuck until that is free, and that agents that
// wait for each other are named.
func waitsForClaims(s *suite) {
	s.turn("ann", mail.TurnStart, "s1")
	s.turn("bob", mail.TurnStart, "s2")
	stuck := func(kind mail.StuckKind) (out []string) {
		list, err := s.as(mail.User).Stuck(s.ctx, mail.StuckQuery{Kind: kind})
		if err != nil {
			s.Fatal(err)
		}
		for i := range list.Groups {
			g := &list.Groups[i]
			if g.Kind != mail.StuckClaim || g.Since == 0 || list.Kinds[mail.StuckClaim] != len(list.Groups) {
				s.Errorf("stuck is %+v of %v", g, list.Kinds)
			}
			for _, c := range g.Claims {
				out = append(out, fmt.Sprint(g.For, " ", c.Wanted, " ", c.Held.Agent, " ", g.Circle))
			}
		}
		slices.Sort(out) // claims of one millisecond have another order than those of several
		return out
	}
	s.want(s.claim("ann", take(below("parser"))), "parser/")
	s.want(s.claim("bob", take(file("main.go"))), "main.go")
	s.want(s.claim("bob", take(file("parser/lex.go"))), "| by ann: parser/")
	s.want(fmt.Sprint(stuck("")), "[]")
	s.want(s.claim("bob", mail.ClaimRequest{Take: []mail.Target{file("parser/lex.go")}, Wait: true}),
		"| by ann: parser/")
	for _, kind := range []mail.StuckKind{"", mail.StuckClaim} {
		s.want(fmt.Sprint(stuck(kind)), "[agent:bob parser/lex.go ann []]")
	}
	s.want(s.claim("ann", mail.ClaimRequest{Take: []mail.Target{file("main.go")}, Wait: true}), "| by bob: main.go")
	s.want(fmt.Sprint(stuck(mail.StuckClaim)), "[agent:ann main.go bob [ann bob ann] agent:bob parser/lex.go ann "+
		"[bob ann bob]]")
	s.want(s.claim("ann", mail.ClaimRequest{All: true}), "freed parser/")
	s.want(fmt.Sprint(stuck(mail.StuckClaim)), "[]")
}

// claimsOfTheUser checks that the user holds claims like others, and releases those of others, who are told.
func claimsOfTheUser(s *suite) {
	s.turn("ann", mail.TurnStart, "s1")
	s.register("bob")
	s.want(s.claim(mail.User, mail.ClaimRequest{Take: []mail.Target{{Name: "build"}}, Why: "a release"}), "build")
	s.want(s.claim("ann", take(mail.Target{Name: "build"})), "| by user: build")
	s.want(s.claim("ann", take(file("a.go"))), "a.go")
	_, err := s.as("bob").Claim(s.ctx, mail.ClaimRequest{All: true, Of: "ann"})
	s.wantCode(err, mail.Denied)
	_, err = s.as(mail.User).Claim(s.ctx, mail.ClaimRequest{All: true, Of: "anna"})
	s.wantCode(err, mail.NotFound)
	if got, err := s.as(mail.User).Claim(s.ctx, mail.ClaimRequest{Free: []mail.Target{file("a.go")},
		Of: "ann"}); err != nil ||
		len(got.Freed) != 1 {
		s.Errorf("the user frees %+v, %v", got, err)
	}
	s.wantClaims("user build")
	if page := s.inbox("ann", mail.InboxQuery{}); len(page.Messages) != 1 {
		s.Errorf("ann is told %+v", page.Messages)
	}
}

// claimsEndWithTheSession checks that a session that has ended, or was replaced, holds no claims.
func claimsEndWithTheSession(s *suite) {
	s.register("bob")
	s.turn("ann", mail.SessionStart, "s1")
	s.want(s.claim("ann", take(file("a.go"))), "a.go")
	s.turn("ann", mail.SessionEnd, "s1")
	s.wantClaims()
	s.turn("ann", mail.SessionStart, "s1")
	s.wantClaims()
	s.want(s.claim("ann", take(file("a.go"))), "a.go")
	if err := s.as(mail.User).Retire(s.ctx, "ann"); err != nil {
		s.Fatal(err)
	}
	s.wantClaims()
}

func badClaims(s *suite) {
	s.turn("ann", mail.TurnStart, "s1")
	glob := func(path string) mail.Target {
		t := file(path)
		t.Form = mail.GlobForm
		return t
	}
	long := file(strings.Repeat("a/", 3000) + "b")
	for _, c := range []struct {
		r    mail.ClaimRequest
		want mail.Code
		word string
	}{
		{take(file("../etc/passwd")), mail.Invalid, "not a path inside a project's tree"},
		{take(file("/etc/passwd")), mail.Invalid, "not a path inside a project's tree"},
		{take(file("a/../b")), mail.Invalid, "not a path inside a project's tree"},
		{take(file("a\x00b")), mail.Invalid, "one line"},
		{take(long), mail.Invalid, "4096 bytes"},
		{take(file("a\x1b[2Jb")), mail.Invalid, "control characters"},
		{take(file("a\u202eog.b")), mail.Invalid, "control characters"},
		{take(file("a\u2028b")), mail.Invalid, "control characters"},
		{take(glob("a\u0085b/*")), mail.Invalid, "control characters"},
		{take(mail.Target{Root: "1-2", At: "/s\x1brc", Path: "a"}), mail.Invalid, "control characters"},
		{take(mail.Target{Name: "build", Machine: "m\x1b"}), mail.Invalid, "not a machine name"},
		{take(mail.Target{Name: "build\u202e"}), mail.Invalid, "letters, digits"},
		{take(below(".")), mail.Invalid, "the whole tree /src"},
		{take(glob("**/*")), mail.Invalid, "matches everything"},
		{take(glob("*")), mail.Invalid, "matches everything"},
		{take(glob("a/[")), mail.Invalid, "not a valid pattern"},
		{take(glob("**/a/**/a/**/a/**/b")), mail.Invalid, "more than 3 **"},
		{take(mail.Target{Name: "port:0"}), mail.Invalid, "not a port"},
		{take(mail.Target{Name: "port:080"}), mail.Invalid, "not a port"},
		{take(mail.Target{Name: "my build"}), mail.Invalid, "letters, digits"},
		{take(mail.Target{}), mail.Invalid, "one line"},
		{mail.ClaimRequest{Take: []mail.Target{file("a")}, For: 90000}, mail.Invalid, "24h"},
		{mail.ClaimRequest{Take: []mail.Target{file("a")}, Why: "x\ny"}, mail.Invalid, "one line"},
		{mail.ClaimRequest{Take: []mail.Target{file("a")}, Why: "x\x1b]0;y\a"}, mail.Invalid, "control characters"},
		{mail.ClaimRequest{Take: []mail.Target{file("a")}, Why: "x\u2066y"}, mail.Invalid, "control characters"},
		{mail.ClaimRequest{Take: make([]mail.Target, mail.MaxTargets+1)}, mail.Limited, "at a time"},
	} {
		_, err := s.as("ann").Claim(s.ctx, c.r)
		s.wantCode(err, c.want, c.word)
	}
	_, err := s.as("nobody").Claim(s.ctx, take(file("a")))
	s.wantCode(err, mail.Denied)
	var err2 error
	for i := 0; i <= mail.MaxClaims && err2 == nil; i += mail.MaxTargets {
		var r mail.ClaimRequest
		for n := range mail.MaxTargets {
			r.Take = append(r.Take, file(fmt.Sprint("f", i+n)))
		}
		_, err2 = s.as("ann").Claim(s.ctx, r)
	}
	s.wantCode(err2, mail.Limited, "release some")
}
