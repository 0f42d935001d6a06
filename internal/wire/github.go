package wire

import "net/http"

// The headers of a delivery of GitHub's webhooks.
const (
	GitHubEvent     = "X-GitHub-Event"
	GitHubSignature = "X-Hub-Signature-256"
)

// GitHubDelivery is a delivery from GitHub to a webhook.
type GitHubDelivery struct {
	Event     string
	Signature string
	Body      []byte
}

// GitHubRoute takes a delivery.
var GitHubRoute = Route{ID: "github", Method: http.MethodPost, Path: "/rooms/{room}/github",
	About: "Take a delivery of a GitHub webhook, which its signature proves. Its events become mail from " +
		"outside; a repeated delivery is stored once.",
	Open: true}
