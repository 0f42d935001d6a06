package superportia

import (
	"context"

	"pennypost/internal/mail"
)

// captainRole is the role of the one whom the others ask what to do. In the document that is the person (夏哥), so who
// has it is the user of Pennypost: mail to them stands on the desk, and nobody else speaks as them.
const captainRole = "Captain"

// captainOf returns the identity that is the user, as the roster would show it; ok is false where there is none.
func captainOf(ctx context.Context, svc mail.Registrar) (a mail.Agent, ok bool, err error) {
	a, ok, err = mail.OneAgent(ctx, svc, mail.User)
	if !ok || err != nil || tagValue(a, placeTag) == "" || len(a.Aliases) == 0 {
		return mail.Agent{}, false, err
	}
	a.Name = a.Aliases[len(a.Aliases)-1] // the last that was loaded
	return a, true, nil
}

// fleetRoster returns all identities, the roster and the Captain, and how their names are spelled.
func fleetRoster(ctx context.Context, svc mail.Registrar) (roster []mail.Agent, signs signer, err error) {
	if roster, err = mail.Roster(ctx, svc); err != nil {
		return nil, signs, err
	}
	captain, ok, err := captainOf(ctx, svc)
	if ok {
		roster = append(roster, captain)
	}
	return roster, signer{captain.Name}, err
}

// signer spells who wrote or got a message: what the user wrote is the Captain's.
type signer struct{ captain mail.Name }

func signerOf(ctx context.Context, svc mail.Registrar) (signer, error) {
	captain, _, err := captainOf(ctx, svc)
	return signer{captain.Name}, err
}

// bare returns an address as the document writes it.
func (s signer) bare(a mail.Address) mail.Name {
	if name := a.Signer(); name != mail.User || s.captain == "" {
		return name
	}
	return s.captain
}

// owner returns whose mailbox a name means in the room.
func (s signer) owner(n mail.Name) mail.Name {
	if n == s.captain && n != "" {
		return mail.User
	}
	return n
}

// enlist registers an identity that is the Captain as the user.
func enlist(ctx context.Context, svc mail.Service, p mail.Presence) error {
	if _, err := svc.Register(ctx, p); err != nil {
		return err
	}
	_, err := svc.Merge(ctx, p.Name, mail.User)
	return err
}
