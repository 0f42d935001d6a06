package a2a

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"pennypost/internal/mail"
)

// serveCard answers with the card of the room or of one of its agents.
func (s *session) serveCard(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	card := s.card(scheme + "://" + r.Host + strings.TrimSuffix(r.URL.EscapedPath(), wellKnown))
	var err error
	if s.to == "" {
		card.Skills, err = s.skills(r)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(card)
}

// card returns the part of a card that does not depend on the room's state.
func (s *session) card(url string) *proto.AgentCard {
	name, about := string(s.Room), "The room "+string(s.Room)+" of a Pennypost post office. Tasks are mail to the "+
		"role or tag that metadata.skill of the message names."
	if s.to != "" {
		name, about = string(s.to), "An agent in the room "+string(s.Room)+" of a Pennypost post office."
	}
	text := []string{"text/plain"}
	return &proto.AgentCard{
		Name: name, Description: about + " A task waits until an agent takes it.",
		Version:             s.door.Version,
		SupportedInterfaces: []*proto.AgentInterface{proto.NewAgentInterface(url, proto.TransportProtocolJSONRPC)},
		Capabilities:        proto.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes:   append(text, "application/json"), DefaultOutputModes: text,
		SecuritySchemes: proto.NamedSecuritySchemes{"token": proto.HTTPAuthSecurityScheme{Scheme: "Bearer",
			Description: "a guest's token of this room"}},
		SecurityRequirements: proto.SecurityRequirementsOptions{{"token": {}}},
		Skills: []proto.AgentSkill{{ID: "mail", Name: name, Description: "Reads the task and answers it.",
			Tags: []string{"mail"}}},
	}
}

// skills returns the roles and tags in use in the room.
func (s *session) skills(r *http.Request) ([]proto.AgentSkill, error) {
	ids, err := s.addresses(r.Context())
	skills := make([]proto.AgentSkill, 0, len(ids))
	for _, id := range ids {
		kind, value, tagged := strings.Cut(string(id), ":")
		if !tagged {
			kind, value = "role", kind
		}
		skills = append(skills, proto.AgentSkill{ID: string(id), Name: value, Tags: []string{kind},
			Description: "Mail to the " + kind + " " + value + "."})
	}
	return skills, err
}

// wellKnown is the path of a card below its agent's address.
const wellKnown = "/.well-known/agent-card.json"

// sorted sorts addresses and removes duplicates.
func sorted(all []mail.Address) []mail.Address {
	slices.Sort(all)
	return slices.Compact(all)
}
