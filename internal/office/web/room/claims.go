package room

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/waits"
)

// claims adds an agent that waits for another's claim.
func (c *catch) claims(g *mail.StuckGroup) {
	s := c.add(&stuckGroup{Kind: string(g.Kind), Who: g.For, Since: g.Since})
	for _, clash := range g.Claims {
		s.Held = append(s.Held, waits.Held{View: c.View, Holding: clash.Held})
	}
	if len(g.Circle) > 0 {
		s.Why = "They wait in a circle: " + wording.Join(g.Circle, " for ", func(n mail.Name) string {
			return string(n)
		}) + ". Free one claim, and the others continue."
	}
}

// free releases the claims of an agent or of the user. The person cannot undo it.
func free(v *page.View) error {
	form := v.R.PostForm
	r := mail.ClaimRequest{Of: mail.Name(form.Get("of")), All: form.Get("all") != ""}
	for _, text := range form["target"] {
		var t mail.Target
		if err := jsonx.Unmarshal([]byte(text), &t); err != nil {
			return mail.Errorf(mail.Invalid, "%.100q is not a claim; nothing was changed", text)
		}
		r.Free = append(r.Free, t)
	}
	if r.Of == "" || !r.All && len(r.Free) == 0 {
		return mail.Errorf(mail.Invalid, "name the claim to free and its holder; nothing was changed")
	}
	got, err := v.Svc.Claim(v.Ctx(), r)
	if err != nil {
		return err
	}
	text := "Already free"
	if n := len(got.Freed); n > 0 {
		text = got.Freed[0].Target.String() + " is free"
		if n > 1 {
			text = wording.Plural(n, "claim") + " freed"
		}
		if r.Of != mail.User {
			text += "; " + string(r.Of) + " has been told"
		}
	}
	next := "/agents"
	if r.Of != mail.User {
		next = strings.TrimPrefix(v.AgentHref(r.Of), v.Base)
	}
	return v.Changed(next, "pp-resolved", "toast-done", page.Toast{View: v, Text: text, MS: 6000})
}
