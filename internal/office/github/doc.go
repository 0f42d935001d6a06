// Package github turns events on GitHub into mail: reviews, comments, mentions, and checks that failed or passed
// again. It learns of them through a webhook (Take) or by polling with GitHub's command line, gh (Run); an event
// that arrives both ways is one message. Start at face.go.
//
// This is mail from outside: the sender is mail.GitHub, a name that no agent can have, and never the user. Only
// owners, members and collaborators, and checks of the repository's own branches, reach agents: the agent whose
// checkout is on the branch. All other mail goes to the person alone.
//
// The payloads are those of https://docs.github.com/en/webhooks/webhook-events-and-payloads and of the REST API,
// version 2022-11-28.
package github
