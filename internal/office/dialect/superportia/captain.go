package superportia

import (
	"context"

	"pennypost/internal/mail"
)

// captainRole is the role of the identity that the others ask for instructions. In the document that is the person
// (夏哥), so its holder is Pennypost's user: mail to the holder is on the desk, and no one else speaks as the holder.
const captainRole = "Captain"

// captainOf returns the user's identity as a roster entry; ok is false if there is none.
func captainOf(ctx context.Context, svc mail.Registrar) (a mail.Agent, ok bool, err error) {
	a, ok, err = mail.OneAgent(ctx, svc, mail.User)
	if !ok || err != nil || tagValue(a, placeTag) == "" || len(a.Aliases) == 0 {
		return mail.Agent{}, false, err
	}
	a.Name = a.Aliases[len(a.Aliases)-1] // the last one loaded
	return a, true, nil
}

// fleetRoster returns all identities, those on the roster and the Captain, and a signer for their names.
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

// signer writes the names of senders and recipients: the user's name is the Captain's.
type signer struct{ captain mail.Name }

func signerOf(ctx context.Context, svc mail.Registrar) (signer, error) {
	captain, _, err := captainOf(ctx, svc)
	return signer{captain.Name}, err
}

// bare returns an address in the document's form.
func (s signer) bare(a mail.Address) mail.Name {
	if name := a.Signer(); name != mail.User || s.captain == "" {
		return name
	}
	return s.captain
}

// owner returns the room's name for a mailbox's owner.
func (s signer) owner(n mail.Name) mail.Name {
	if n == s.captain && n != "" {
		return mail.User
	}
	return n
}

// enlist registers the Captain's identity and merges it into the user.
func enlist(ctx context.Context, svc mail.Service, p mail.Presence) error {
	if _, err := svc.Register(ctx, p); err != nil {
		return err
	}
	_, err := svc.Merge(ctx, p.Name, mail.User)
	return err
}
